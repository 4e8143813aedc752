"""Words that tell what a difference is, in English, German, Spanish and French."""


def words_of(text: str) -> frozenset[str]:
    """Return the words of a list that is written with spaces between."""
    return frozenset(text.split())


VERBS = words_of(
    """
    is are was were be been has have had may must can cannot should will shall need needs needed get gets got take
    takes took use uses used using run runs ran start starts started begin begins began end ends ended live lives lived
    work works worked open opens opened close closes closed own owns owned expire expires accept accepts accepted
    prefer prefers preferred like likes liked love loves want wants drink drinks eat eats hold holds held seat seats cost costs last
    lasts keep keeps kept meet meets met send sends sent sit sits stand stands hang hangs hanging know knows read
    reads write writes written say says said come comes came go goes went make makes made drop drops dropped print
    prints lead leads led allow allows store stores stored return returns contain contains consist consists choose
    chose chosen belong belongs move moves moved stay stays stayed dig require requires required fit fits sleep sleeps
    ist sind war waren hat haben hatte wird werden muss müssen darf dürfen kann können soll sollen gilt gelten beginnt
    beginnen endet öffnet öffnen schließt schließen nimmt nehmen trinkt trinken trainiert leitet liegt liegen kostet
    läuft laufen heißt kommt geht gehen bleibt braucht brauchen druckt trifft treffen steht stehen nutzt nutzen mag
    es son está están era eran tiene tienen hay queda quedan sale salen empieza termina usa usan cuesta vive abre
    cierra necesita lleva dirige tutor
    est sont était a ont avait part partent coûte commence finit dort habite ouvre ferme utilise dure doit peut faut
    """
)
"""Verbs that are common in notes: what stands before the first is what a note is about."""

ROLES = words_of(
    """
    owns opens leads manages maintains heads chairs teaches trains hosts presents answers approves signs
    leitet trainiert betreut verantwortet moderiert lehrt unterrichtet hält
    dirige lleva coordina modera entrena dirige anime encadre gère présente
    """
)
"""Verbs of which one person at a time is the subject: another name before them is another value."""

SCOPES = words_of(
    "for of für von para de pour du des on auf im in at bei beim with mit con avec to zu zum zur"
)
"""Words after which it stands for what, or of what, something holds."""

OWNERS = words_of("for of für von para de pour du")
"""Those of them after which stands what the whole is about, wherever in the sentence."""

PLACES = words_of(
    """
    for of in at from with to under inside within since für von bei mit aus in an seit unter para de en con desde a pour
    avec dans chez depuis à
    """
)
"""Words before a bare name that say where, since when or for whom the rest holds, unless the verb asks for them."""

PARTICIPLES = words_of(
    "built kept set put found bound bought sold paid left shown hecho hecha puesto fait mis écrit"
)
"""Participles that no ending tells, after which a preposition belongs to the verb."""

KINDS = words_of(
    """
    service services module modules package packages component components team teams project projects repository
    repositories environment environments cluster clusters customer customers client clients tenant tenants branch
    branches page pages screen screens table tables app apps site sites job jobs pipeline pipelines feature features
    endpoint endpoints library libraries release releases sprint ticket tickets
    dienst dienste modul module paket pakete komponente komponenten projekt projekte umgebung umgebungen kunde kunden
    kundin mandant mandanten zweig seite seiten tabelle tabellen seiten auftrag
    servicio servicios módulo módulos paquete paquetes equipo equipos proyecto proyectos entorno entornos cliente clientes
    rama página páginas tabla tablas versión
    service module paquet équipe équipes projet projets environnement client clients branche table tables
    """
)
"""Words for what there are several of: the name beside one says which of them the text is about."""

BOUNDS = words_of(
    """
    above over below under least most than exceeds until after before within every only about around about exactly
    über unter ab mindestens höchstens bis nach vor als knapp rund etwa etwa mit
    más menos hasta unos con plus moins environ jusqu'à avec
    """
)
"""Words after which a number counts something."""

MEASURES = words_of(
    """
    ms s sec min h second seconds minute minutes hour hours day days week weeks month months year years kb mb gb tb kib
    mib gib bytes euro euros eur usd dollars dollar percent % € $ times characters lines people persons items requests
    points boxes retries connections threads tokens words pages copies seats rows users degrees km m cm mm kg g litres
    sekunden sekunde minuten stunden stunde tage tagen wochen monate monaten jahre prozent uhr zeichen zeilen personen
    stück grad anfragen
    segundos minutos horas días semanas meses años por entradas personas líneas gramos grados peticiones
    secondes heures heure h jours semaines mois ans lignes personnes degrés requêtes ko mo go
    """
)
"""What is counted: the number before it is a value."""

DAYS = words_of(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays january february march april june july august september october november december today tomorrow
    montag dienstag mittwoch donnerstag freitag samstag sonntag montags dienstags mittwochs donnerstags freitags
    samstags sonntags januar februar märz mai juni juli oktober dezember
    lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre
    octubre noviembre diciembre lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin
    juillet août septembre octobre novembre décembre
    """
)
"""Days and months."""

STATES = words_of(
    """
    on off open closed opened done pending paid unpaid enabled disabled active inactive red green ready missing broken
    fixed complete incomplete finished unfinished issued signed allowed forbidden required optional public private
    offen erledigt fertig unterwegs angekommen aktiv inaktiv bezahlt unbezahlt erlaubt verboten rot grün
    abierto abierta cerrado cerrada activado activada activados activadas desactivado desactivados terminado terminada
    pendiente pagado ouvert ouverte fermé fermée activé activée désactivé désactivée terminé terminée payé
    """
)
"""Words for the state of something."""

DENIALS = words_of(
    """
    not no never nobody nothing none without cannot except excluded excluding don't doesn't isn't aren't won't
    nicht kein keine keinen keiner keinem nie niemals niemand nichts ohne
    nunca nadie nada sin tampoco jamás pas jamais aucun aucune rien sans ne
    """
)
"""Words that deny; two of them affirm."""

LINKING = words_of(
    """
    any all each every only always also just so since because then thus both either kept keep keeps called like
    immer nur auch jeder jede jedes stets siempre todos cada también toujours aussi chaque tous
    """
)
"""Words that say little more than the function words do."""

_OPPOSITES = """
    on/off open,opens,opened/closed,closes,shut enabled,enable,enables/disabled,disable,disables allowed,may,allow/forbidden,prohibited
    active/inactive public/private required,mandatory/optional first/last before/after always/never yes/no true/false
    up/down start,starts/stop,stops done,finished,complete/pending,unfinished,incomplete paid/unpaid more/less
    an/aus aktiviert,aktiv/deaktiviert,inaktiv erlaubt/verboten offen/geschlossen,erledigt unterwegs/angekommen,geliefert
    activado,activada,activados,activadas/desactivado,desactivada,desactivados,desactivadas abierto,abierta/cerrado,cerrada
    activé,activée,activés/désactivé,désactivée,désactivés ouvert,ouverte/fermé,fermée
    morning/afternoon,evening
"""

ANTONYMS = tuple(
    (frozenset(one.split(",")), frozenset(other.split(",")))
    for one, other in (pair.split("/") for pair in _OPPOSITES.split())
)
"""Pairs of words, each with those that mean the same, of which one text cannot hold both."""
