"""Common words of activities in French, German and Portuguese, each with the English words that it stands for.

A line is one meaning: English words, then `|` and French, German and Portuguese ones, folded. Spanish stands in
`concepts`, where the classes of the English words are. Words are met by the stems of their own language.
"""

from __future__ import annotations

from functools import cache, lru_cache

from routing.engine.stemmers import stemmer
from routing.engine.text import LONGEST_WORD, stem

LANGUAGES = ("french", "german", "portuguese")

MEANINGS = """
search find | chercher rechercher trouver cherche trouve | suchen suche finden finde | procurar buscar encontrar procure busque
read open | lire ouvrir lis ouvre | lesen lies offnen offne | ler leia abrir abra
write compose | ecrire rediger ecris | schreiben schreibe verfassen | escrever escreva redigir
create add | creer ajouter cree ajoute nouveau nouvelle | erstellen erstelle anlegen hinzufugen neue neuen | criar crie adicionar adicione novo nova
delete remove | supprimer effacer enlever supprime | loschen losche entfernen entferne | excluir apagar remover apague exclua
update edit change | modifier mettre changer actualiser | andern andere aktualisieren bearbeiten bearbeite | atualizar alterar editar mudar
list show | lister afficher montrer affiche montre | auflisten zeigen zeige anzeigen liste | listar mostrar mostre exibir
fetch retrieve | recuperer obtenir recupere | abrufen holen hole rufe | obter recuperar obtenha
download | telecharger telecharge | herunterladen lade downloaden | baixar baixe descarregar
upload | televerser envoyer | hochladen | enviar carregar
send | envoyer envoie expedier | senden sende schicken schicke | enviar envie mandar
save store | enregistrer sauvegarder enregistre conserver | speichern speichere sichern aufbewahren | salvar salve guardar armazenar
copy | copier copie | kopieren kopiere | copiar copie
move | deplacer deplace | verschieben verschiebe | mover mova
rename | renommer renomme | umbenennen | renomear
compare | comparer compare | vergleichen vergleiche | comparar compare
convert | convertir transformer convertis | umwandeln konvertieren wandle | converter converta transformar
translate translation | traduire traduction traduis | ubersetzen ubersetze ubersetzung | traduzir traducao traduza
summarize summary | resumer resume synthese | zusammenfassen zusammenfassung fasse | resumir resumo resuma
analyze | analyser analyse | analysieren analysiere auswerten | analisar analise
check verify test | verifier controler tester verifie | prufen prufe uberprufen testen | verificar verifique testar conferir
plan | planifier prevoir | planen plane planung | planejar planear
run execute | executer lancer lance execute | ausfuhren starten starte fuhre | executar rodar execute iniciar
stop cancel | arreter annuler annule | stoppen abbrechen absagen | parar cancelar cancele
calculate | calculer calcule | berechnen berechne rechnen | calcular calcule
book reserve schedule | reserver planifier reserve | buchen buche reservieren | reservar agendar marcar
buy purchase order | acheter commander achete | kaufen kaufe bestellen | comprar compre encomendar
pay payment | payer paiement | bezahlen zahlung | pagar pagamento
notify inform | notifier prevenir informer | benachrichtigen informieren | notificar avisar informar
publish post share | publier partager publie | veroffentlichen teilen | publicar compartilhar
navigate visit | naviguer visiter | navigieren besuchen | navegar visitar
click | cliquer clique | klicken klicke | clicar clique
email mail | courriel courrier | mail nachricht | correio email
message | message | nachricht nachrichten | mensagem mensagens
file document | fichier document fichiers documents | datei dateien dokument dokumente | arquivo ficheiro documento arquivos
folder directory | dossier repertoire | ordner verzeichnis | pasta diretorio
page web website | page site pages | seite seiten webseite | pagina site paginas
image picture | image photo images | bild bilder foto | imagem foto imagens
calendar | calendrier agenda | kalender | calendario agenda
event meeting appointment | evenement reunion rendez evenements | termin termine ereignis besprechung | evento reuniao compromisso eventos
invoice bill | facture factures | rechnung rechnungen | fatura faturas
customer client | client clients | kunde kunden | cliente clientes
price cost | prix cout | preis preise kosten | preco custo
weather forecast | meteo temps previsions | wetter wettervorhersage | tempo clima previsao
news | nouvelles actualites | nachrichten neuigkeiten | noticias
flight | vol vols | flug fluge | voo voos
hotel | hotel hotels | hotel hotels | hotel hoteis
restaurant | restaurant restaurants | restaurant restaurants | restaurante restaurantes
recipe | recette recettes | rezept rezepte | receita receitas
issue ticket bug | probleme incident ticket | problem fehler vorfall | problema incidente
code | code | code quelltext | codigo
repository | depot | repository ablage | repositorio
database table | base donnees table | datenbank tabelle | banco dados tabela
note | note notes | notiz notizen | nota notas
task | tache taches | aufgabe aufgaben | tarefa tarefas
team | equipe | team mannschaft | equipe time
user account | utilisateur compte utilisateurs | benutzer nutzer konto | usuario conta usuarios
password | passe | passwort kennwort | senha
report | rapport rapports | bericht berichte | relatorio relatorios
song music | chanson musique | lied musik | musica cancao
video | video videos | video videos | video videos
map route | carte itineraire | karte route | mapa rota
company | entreprise societe | firma unternehmen | empresa
product | produit produits | produkt produkte | produto produtos
currency exchange | monnaie devise change | wahrung wechselkurs | moeda cambio
time date | date heure | datum uhrzeit zeit | data hora
key | cle cles | schlussel | chave
test | essai test tests | test tests | teste testes
"""


@lru_cache(maxsize=1 << 14)
def foreign_stem(language: str, word: str) -> str:
    """The stem of a folded word in its language: a remembered pure function."""
    if len(word) < 4 or len(word) >= LONGEST_WORD or not word.isalpha():
        return word
    return str(stemmer(language)().stemWord(word))


@cache
def written(language: str) -> frozenset[str]:
    """The words of the table as they are written; none for a language that is not in it."""
    if language not in LANGUAGES:
        return frozenset()
    column = LANGUAGES.index(language) + 1
    return frozenset(word for line in MEANINGS.strip().splitlines() for word in line.split("|")[column].split())


@cache
def meanings(language: str) -> dict[str, tuple[str, ...]]:
    """Stem of a word of this language -> the stems of the English words that it stands for."""
    column = LANGUAGES.index(language) + 1
    found: dict[str, dict[str, None]] = {}
    for line in MEANINGS.strip().splitlines():
        parts = [part.split() for part in line.split("|")]
        for word in parts[column]:
            found.setdefault(foreign_stem(language, word), {}).update(dict.fromkeys(map(stem, parts[0])))
    return {word: tuple(stands) for word, stands in found.items()}
