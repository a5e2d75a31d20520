"""Words that carry no request of their own: function words, small talk, go-aheads, praise, negators.

All are folded, lower-case words. Languages other than English count only when a text holds more of their function words
than of the English ones, since many are content words elsewhere ("die", "pour", "main").
"""

from __future__ import annotations

from collections.abc import Sequence

from routing.engine.tongues import written

ENGLISH = frozenset(
    """
    a about above actually after again all almost also although always am an and another any anybody anyone anything are aren
    around as at be because been before being below between both but by came can cannot cant come could couldn did didn didnt do
    does doesn doesnt doing don done dont down during each either else especially etc even ever every everybody everyone
    everything few for from further get gets getting give given go goes going gonna got had hadn has hasn have haven having he
    help her here hers herself him himself his how however i if im in into is isn it its itself ive just kind kindly know least
    less let lets like ll lot lots made make makes making many may maybe me might mine more most much must mustn my myself need
    needs needed neither no nor not nothing now of off often on once one ones only onto or other others our ours ourselves out
    over own per perhaps please possible possibly provide quite rather re really recommend s same say see seem seems shall shan she
    should shouldn since so some somebody somehow someone something sometimes soon still such suggest sure t take tell than that
    thats the their theirs them themselves then there these they thing things think this those though through thus to together
    too toward towards try trying under until up upon us use used using usually ve very via wanna want wanted wants was wasn
    way ways we well were weren what whats whatever when whenever where wherever whether which while who whoever whom whose why
    will with within without won wont would wouldn yet you your yours yourself able looking look interested wondering bit
    """.split()
)

OTHERS: dict[str, frozenset[str]] = {
    "spanish": frozenset(
        """
        a al algo algun alguna algunos ante antes aqui asi aun aunque bajo bien cada como con contra cual cuales cuando cuanto de
        del desde donde dos durante e el ella ellas ellos en entre era es esa esas ese eso esos esta estaba estan estar estas este
        esto estos estoy favor fue ha hace hacer hacia han hasta hay la las le les lo los mas me mi mis mismo mucho muy nada necesito
        ni nos nosotros o otra otro otros para pero poco por porque puede puedes puedo pues que quien quiero quisiera se sea ser si
        sido sin sobre solo son soy su sus tambien tan tanto te tengo tiene toda todas todo todos tu tus un una unas uno unos usted
        y ya yo nuevo nueva nuevos nuevas
        """.split()
    ),
    "german": frozenset(
        """
        aber alle als also am an auch auf aus bei bin bis bitte brauche da damit dann das dass dein dem den der des die dies diese
        diesem diesen dieser dieses doch du durch ein eine einem einen einer eines er es etwas fur gegen habe haben hat herunter ich
        ihm ihn ihr im in ins ist ja jede jeden kann kannst kein keine man mein meine meinem meinen mich mir mit mochte muss nach
        neu neue neuen neuer neues nicht noch nur ob oder ohne sehr sein sich sie sind so soll uber um und uns unser unter vom von vor was wenn werden wie will
        wir wird wo wurde zu zum zur
        """.split()
    ),
    "french": frozenset(
        """
        a ai alors au aux avec avoir besoin bien c ce cela ces cet cette comme d dans de des donc du elle elles en est et etre eu
        faire faut il ils j je l la le les leur lui m ma mais me mes moi mon n ne nos notre nous on ou par pas peux plus pour pourquoi
        qu que quel quelle qui s sa sans se ses si son sont sous sur t ta te tes toi ton tous tout toute tres tu un une veux vos
        votre vous voudrais y nouveau nouvel nouvelle nouveaux nouvelles
        """.split()
    ),
    "portuguese": frozenset(
        """
        a ao aos as ate com como da das de dela dele depois do dos e ela ele em entre era essa esse esta este eu foi ha isso isto ja
        la mais mas me mesmo meu minha muito na nao nas nem no nos o os ou para pela pelo pode por preciso qual quando que quem quero
        se sem ser seu sua so tambem te tem um uma voce novo nova novos novas
        """.split()
    ),
    "italian": frozenset(
        """
        a ad al alla alle anche avere bisogno c che chi ci come con cosa da dal dalla de degli dei del della delle di dove e ed ho i il
        in io la le lei lo loro lui ma me mi mia mio ne nei nel nella noi non nostro o per perche piu puoi qual quale quando questa
        questo se sei sono su sul sulla ti tra tu un una uno vi voglio vorrei nuovo nuova nuovi nuove
        """.split()
    ),
}

# Weak on their own: they shape a request but name nothing.
LIGHT = frozenset(
    """
    great good nice new best specific current different various detail details information info item items number example
    relevant available multiple first last next today tomorrow yesterday currently latest recent now work works working
    question answer idea tips tip advice explain quickly directly simple easy particular related based including
    time day days week month year people person
    """.split()
)

SMALL_TALK = frozenset(
    """
    hi hello hey hiya howdy yo greetings welcome bye goodbye cheers thanks thank thx ty tysm ok okay okey kk yes yep yeah yup nah
    nope sure alright fine right cool lol haha hehe wow oh ah hmm hm um uh oops sorry congrats congratulations pleasure
    morning afternoon evening night
    hola adios gracias vale buenos buenas dias tardes noches saludos claro perdon
    hallo danke tschuss gruss servus bonjour salut merci bonsoir ciao grazie prego ola obrigado obrigada
    """.split()
)
GO_AHEAD = frozenset("ahead continue proceed carry sounds agreed done perfect exactly correct noted understood".split())
PRAISE = frozenset(
    """
    good nice great cool awesome excellent perfect lovely amazing brilliant fantastic wonderful beautiful solid super neat
    impressive fun funny interesting helpful useful clever smart wise bad terrible awful buen buena bonito genial excelente gut schon toll bon
    """.split()
)
DISCOURSE = frozenset(
    "idea plan job work point question call answer catch thought try move choice stuff explanation effort".split()
)
# Beside a greeting, or after "how is your": when and how it goes, which no tool is asked for.
AMBIENT = frozenset(
    "today tonight tomorrow yesterday day days week weekend morning afternoon evening night ever far doing going feeling things life holiday".split()
)
ASKED_AFTER = frozenset("you your it everything things life".split())  # "how are you", "how was your weekend"
BEST = frozenset("best finest".split())
# Before an identifier: it is to be used, not talked about.
CALLERS = frozenset(
    "use using call calling run running invoke invoking execute executing with via through try tool to".split()
)
# Before a name in CamelCase: a piece of code.
CODE_NOUNS = frozenset(
    "function method class struct interface variable constant symbol type enum trait component".split()
)
BEING = frozenset("is are was were s looks look sounds seems feels works".split())
PHRASAL = {
    ("look", "up"): "lookup", ("looking", "up"): "lookup", ("get", "rid"): "delete", ("throw", "away"): "discard", ("call", "off"): "cancel",
    ("log", "in"): "login", ("sign", "in"): "login", ("set", "up"): "setup", ("back", "up"): "backup", ("shut", "down"): "stop",
    ("switch", "off"): "stop", ("turn", "off"): "stop", ("switch", "on"): "start", ("turn", "on"): "start", ("write", "down"): "write",
    ("find", "out"): "find", ("clean", "up"): "cleanup", ("sum", "up"): "summarize", ("e", "mail"): "email", ("e", "mails"): "email",
}  # fmt: skip
OPINION = frozenset(
    "like love hate enjoy adore appreciate agree disagree prefer miss loved liked enjoyed hated".split()
)
REQUEST_MARKERS = frozenset(
    """
    please can could would will want need needs help how what where which who when should let must have
    quiero necesito puedes podrias favor bitte kannst kann mochte brauche peux voudrais
    """.split()
)
QUESTION = frozenset("why what how which who whom whose when where is are was were do does did has have".split())
# Before a participle: what follows was done, by someone or in passing.
TELLERS = frozenset("i we he she they already just previously recently was were has had have been being".split())
BASE_FORMS_IN_ED = frozenset("embed feed seed need shred bleed breed proceed exceed succeed speed bed red".split())
FAULT_QUESTION = frozenset("why porque warum pourquoi".split())
POLITE = frozenset(
    """
    i we you me us my our your to a an the and please can could would will want need like help let lets just now then also first so
    d m ve ll ok okay hi hello hey thanks quiero necesito puedes podrias me por favor bitte kannst du ich mochte
    """.split()
)
# A word after one of these is not asked for. Descriptions of a fault ("does not work") are weaker than prohibitions.
PROHIBITIONS: tuple[tuple[str, ...], ...] = (
    ("do", "not"), ("don", "t"), ("dont",), ("never",), ("without",), ("must", "not"), ("mustn", "t"), ("should", "not"),
    ("shouldn", "t"), ("not", "to"), ("no", "need", "to"), ("but", "not"), ("and", "not"), ("instead", "of"), ("rather", "than"),
    ("avoid",), ("except",), ("cannot",), ("won", "t"), ("please", "not"), ("refrain", "from"), ("stop", "before"),
    ("sin",), ("nunca",), ("no", "lo"), ("no", "la"), ("no", "los"), ("no", "las"), ("no", "quiero"), ("nicht",), ("ohne",), ("kein",),
    ("keine",), ("sans",), ("ne",), ("senza",), ("sem",), ("nao",),
)  # fmt: skip
FAULTS: tuple[tuple[str, ...], ...] = (
    ("not",), ("doesn", "t"), ("doesnt",), ("didn", "t"), ("didnt",), ("isn", "t"), ("wasn", "t"), ("won", "t"), ("no",),
)  # fmt: skip
AFFIRMED = (("not", "only"), ("not", "just"), ("why", "not"))
JOINS_NEGATION = frozenset("or nor and o ni oder ou".split())


_WITH_ENGLISH = {name: ENGLISH | stops for name, stops in OTHERS.items()}
_SPOKEN_IN = {
    word: tuple(name for name, stops in OTHERS.items() if word in stops) for word in frozenset().union(*OTHERS.values())
}


def language_of(texts: Sequence[str]) -> str:
    """English, or the one other language whose function words speak louder."""
    hits: dict[str, int] = {}
    for text in texts:
        for name in _SPOKEN_IN.get(text, ()):
            hits[name] = hits.get(name, 0) + 1
    most = max(hits.values(), default=0)
    if most == 0 or most == 1 and len(texts) > 3:
        return "english"
    english = sum(text in ENGLISH for text in texts)
    if english and most <= english:
        return "english"
    # Of two that share a function word, the one whose other words are known.
    loudest = [name for name, count in hits.items() if count == most]
    return max(loudest, key=lambda name: (sum(text in written(name) for text in texts), name))


def function_words(language: str) -> frozenset[str]:
    """The function words that hold for a text in this language; English ones hold in every."""
    return _WITH_ENGLISH.get(language, ENGLISH)
