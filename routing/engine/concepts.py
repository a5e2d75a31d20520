"""Classes of words that stand for one another when people ask for tools, English and Spanish.

A line is one class: English words, then `|`, then Spanish ones. Members may stand in several classes. The classes are
general: they name what tools do and what they do it to, never a product. A match through a class counts for less than
the word itself, and less again where the catalog uses the asked word somewhere.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.resources import files

from routing.engine.text import spanish_stem, stem

# What is done. Two lines may share a word: the classes are not transitive.
ACTIONS = """
fetch download retrieve pull grab scrape crawl request | descargar bajar obtener recuperar traer
show list enumerate view display browse | mostrar listar ver enumerar visualizar
read open view inspect describe load | leer abrir inspeccionar consultar
search find lookup look locate seek query discover | buscar encontrar localizar hallar consultar
create add make new insert generate | crear anadir agregar generar insertar nuevo
write compose draft author | escribir redactar componer
update edit modify change alter revise adjust set | actualizar editar modificar cambiar alterar
delete erase remove drop destroy purge wipe discard trash cancel | borrar eliminar suprimir quitar destruir
save store keep stash persist archive preserve retain | guardar almacenar conservar archivar
send deliver transmit dispatch forward | enviar mandar entregar
notify inform alert tell announce message ping | notificar avisar informar alertar
post publish share announce send | publicar compartir
copy duplicate clone replicate | copiar duplicar clonar
move transfer relocate migrate | mover trasladar transferir migrar
rename retitle | renombrar
merge combine join unify | fusionar combinar unir
compare diff contrast | comparar contrastar
convert transform translate turn export | convertir transformar exportar
translate translation translator interpret | traducir traduccion traductor
summarize summarise summary digest condense recap | resumir resumen
analyze analyse analysis examine evaluate assess study | analizar analisis examinar evaluar
investigate research inquire inquiry explore probe examine | investigar investigacion explorar
validate verify check test confirm | validar verificar comprobar confirmar probar
monitor watch track observe follow | monitorizar vigilar seguir supervisar
plan design outline prepare roadmap | planear planificar disenar preparar
build compile assemble construct | construir compilar ensamblar
run execute launch start invoke | ejecutar lanzar correr iniciar
stop cancel abort halt terminate kill end | parar detener cancelar abortar terminar
install setup deploy provision | instalar desplegar
schedule book reserve arrange appoint | agendar programar reservar concertar
calculate compute math evaluate solve arithmetic | calcular computar resolver
convert conversion exchange | conversion cambio
upload attach import | subir cargar adjuntar importar
recommend suggest propose | recomendar sugerir proponer
buy purchase order checkout | comprar pedir
sell trade | vender
pay charge bill | pagar cobrar
refund reimburse repay repayment reimbursement | reembolsar devolver reembolso devolucion
approve accept authorize allow | aprobar aceptar autorizar
reject refuse decline deny | rechazar denegar
connect link attach join | conectar enlazar
invoke call caller reference refer use | invocar llamar
sort order arrange rank | ordenar clasificar
filter select choose pick | filtrar seleccionar elegir
count tally number | contar
extract parse scrape pull | extraer
generate produce synthesize | generar producir
estimate predict forecast project | estimar predecir pronosticar
click press tap push | pulsar clicar
navigate visit browse goto | navegar visitar
play listen stream | reproducir escuchar
record capture | grabar capturar
draw paint sketch | dibujar pintar
subscribe follow | suscribir
login signin authenticate authentication | autenticar autenticacion
encrypt cipher | cifrar encriptar
compress zip shrink | comprimir
fix repair correct debug | arreglar reparar corregir
assign allocate delegate | asignar
remember remind reminder recall | recordar recordatorio
touch affect impact influence | afectar impactar
"""

# What it is done to.
THINGS = """
url link address uri web website webpage page site http internet online | enlace pagina sitio web direccion
browser chrome tab | navegador
document doc text article paper | documento texto articulo
file folder directory path disk | archivo fichero carpeta directorio ruta
artifact attachment blob object asset | artefacto adjunto objeto
email mail inbox mailbox | correo email buzon
message chat text dm | mensaje charla
channel room group chat | canal sala grupo
team crew colleague teammate coworker staff group | equipo companero colega
user account member profile | usuario cuenta miembro perfil
person people contact recipient | persona contacto destinatario
customer client buyer | cliente comprador
calendar agenda diary schedule | calendario agenda
event meeting appointment reservation booking | evento reunion cita reserva
date day time monday tuesday wednesday thursday friday saturday sunday when | fecha dia hora lunes martes miercoles jueves viernes
task todo job assignment | tarea
issue ticket bug defect problem | incidencia problema error
repository repo codebase | repositorio
code source program script snippet | codigo fuente programa
symbol function method class identifier variable | simbolo funcion metodo clase
commit changeset revision | cambio revision
branch fork | rama
pull pr review | revision
feature functionality capability | funcionalidad caracteristica
database db sql relational table postgres mysql | base datos tabla
row record entry | fila registro
query statement question | consulta pregunta
note memo remark jotting | nota apunte
invoice bill billing receipt | factura recibo
price cost fee tariff rate | precio coste costo tarifa
money payment cash fund | dinero pago
charge purchase payment transaction | cargo compra transaccion
weather forecast rain snow temperature climate sunny storm humidity umbrella meteorology | tiempo clima lluvia llover llueve lluvioso nieve nevar pronostico temperatura
city town place location | ciudad pueblo lugar ubicacion
map direction route navigation | mapa ruta
image picture photo photograph screenshot png jpg | imagen foto captura
video clip movie film mp4 | video pelicula
audio sound music song voice speech mp3 | audio sonido musica cancion voz
news headline article | noticia titular
stock share equity ticker market | accion bolsa mercado
currency forex dollar euro | moneda divisa
flight airline plane airport | vuelo avion aeropuerto
hotel accommodation lodging room | hotel alojamiento habitacion
restaurant dining food meal | restaurante comida
recipe cooking ingredient dish | receta cocina
book novel literature reading | libro lectura
job career vacancy employment | empleo trabajo
company business firm organization organisation | empresa compania negocio organizacion
product item good merchandise | producto articulo
shop store shopping ecommerce retail | tienda compras
health medical doctor medicine clinical | salud medico medicina
exercise workout fitness gym | ejercicio
diet nutrition calorie | dieta nutricion
travel trip vacation tour itinerary | viaje vacaciones
game gaming player | juego jugador
sport football soccer basketball | deporte futbol
school education course class lesson learning | escuela educacion curso clase
law legal attorney lawyer | ley legal abogado
house home property estate apartment | casa vivienda inmueble
car vehicle automobile auto | coche vehiculo
pdf document | pdf
spreadsheet excel sheet workbook csv | hoja calculo
presentation slide powerpoint deck | presentacion diapositiva
chart graph plot diagram | grafico diagrama
terminal shell console cli command bash | terminal consola comando
log trace | registro
clean cleanup tidy clear | limpiar
error exception failure fault bug | error fallo excepcion
server host machine computer | servidor maquina ordenador
network internet connection | red conexion
password credential secret token | contrasena credencial secreto
key token | clave llave
model llm ai | modelo
language idiom | idioma lengua
word term vocabulary | palabra termino
definition meaning | definicion significado
evidence proof | evidencia prueba
size length amount | tamano longitud
expiry expiration ttl deadline | caducidad vencimiento
setting configuration config option preference | configuracion ajuste opcion
backup snapshot | copia respaldo
test spec | prueba
dependency package library module | dependencia paquete biblioteca modulo
container docker | contenedor
video youtube | video
tweet twitter | tuit
temperature degree | temperatura grado
holiday festival | festivo
crypto cryptocurrency bitcoin | criptomoneda
"""

ERASING = frozenset(
    "delete erase remove drop destroy purge wipe discard trash borrar eliminar suprimir quitar destruir clear empty".split()
)
EXECUTING = frozenset("run execute launch start invoke call command shell script ejecutar lanzar correr".split())


@cache
def classes() -> dict[str, tuple[str, ...]]:
    """Stem of a member -> the stems of everything it may stand for, nearest classes first.

    Stemming all of them takes longer than a whole route, so what came of it ships with the package
    (`data/classes.json`, written by bench/build_classes.py); it counts only for just these words.
    """
    source = files("routing.engine").joinpath("data", "classes.json")
    kept = json.loads(source.read_bytes()) if source.is_file() else {}
    if kept.get("of") != words_digest():
        return stemmed_classes()
    return {one: tuple(others.split()) for one, others in kept["classes"].items()}


def words_digest() -> str:
    """Tells whether a table was made of just the words above."""
    return hashlib.sha256((ACTIONS + THINGS).encode()).hexdigest()


def stemmed_classes() -> dict[str, tuple[str, ...]]:
    """`classes`, made from the words."""
    found: dict[str, dict[str, None]] = {}
    for line in (ACTIONS + THINGS).strip().splitlines():
        english, _, spanish = line.partition("|")
        members = [stem(word) for word in english.split()] + [stem(word) for word in spanish.split()]
        asked = members + [spanish_stem(word) for word in spanish.split()]
        for one in asked:
            found.setdefault(one, {}).update(dict.fromkeys(member for member in members if member != one))
    return {one: tuple(others) for one, others in found.items()}


@cache
def spoken_words() -> dict[str, tuple[str, ...]]:
    """Every written member by its first letter, so that a mistyped word can be led back to its class."""
    found: dict[str, dict[str, None]] = {}
    for word in (ACTIONS + THINGS).replace("|", " ").split():
        found.setdefault(word[0], {})[word] = None
    return {letter: tuple(members) for letter, members in found.items()}


@cache
def action_stems(effect: str) -> frozenset[str]:
    """The stems by which a request asks for this effect itself."""
    return frozenset(stem(word) for word in {"erase": ERASING, "execute": EXECUTING}.get(effect, frozenset()))
