"""Words by which a session's turns are read, in English, German and Spanish.

Each constant is a regular expression without flags, to be compiled ignoring case. Each line of an
alternation is of one language: English first, then German, then Spanish.
"""

from collections.abc import Mapping

from minutebook.domain.records import Category


def either(*alternatives: str) -> str:
    """Join alternatives into one pattern that matches whole words."""
    return rf"(?<![^\W_])(?:{'|'.join(alternatives)})(?![^\W_])"


POLITE = (
    r"(?:(?:ok(?:ay)?|so|now|then|next|also|and|hi|hey|hello|great|thanks|please|kindly|first|finally"
    r"|hallo|gut|dann|danke|bitte|jetzt|also|hola|bien|gracias|pues|entonces|ahora|perfecto|¿)[,!.:]? ?)*"
    r"(?:(?:can|could|would|will) (?:you|we) (?:please )?(?:also )?|please |i(?:'d| would) like (?:you )?to |"
    r"i (?:want|need) (?:you )?to |we (?:need|have|should|want)(?: to)? |let'?s |help me (?:to )?|try to "
    r"|(?:könntest|könnten|kannst|können|würdest|würden) (?:du|sie|wir|ihr) (?:bitte )?(?:mal )?"
    r"|ich (?:möchte|will),? dass du |wir (?:brauchen|wollen|möchten|müssen) |lass uns |bitte "
    r"|¿?(?:puedes|podrías|podemos|puede) |(?:quiero|me gustaría|queremos) que |quiero |necesitamos |necesito |por favor,? )?"
    r"(?:please |bitte |por favor,? )?"
)
"""What only makes a request polite, at the beginning of a sentence."""

POLITE_ANYWHERE = r",? ?(?<![^\W_])(?:please|bitte|por favor|if you can|wenn du kannst)(?![^\W_])"
"""What only makes a request polite, wherever it stands."""

VERBS: Mapping[Category, tuple[int, str]] = {
    Category.BUGFIX: (4, "fix|debug|repair|solve|resolve|hotfix|patch"),
    Category.NEW_APP: (4, "bootstrap|scaffold"),
    Category.REFACTORING: (
        4,
        "refactor|rename|extract|simplify|restructure|reorgani[sz]e|split|inline|deduplicate|tidy|"
        "clean up|moderni[sz]e|decouple",
    ),
    Category.DOCUMENTATION: (4, "document"),
    Category.ANALYSIS: (
        4,
        "analy[sz]e|investigate|explain|compare|review|profile|benchmark|measure|evaluate|audit|"
        "research|find out|look into|check (?:why|whether|if)|figure out|estimate|assess",
    ),
    Category.FEATURE: (
        2,
        "add|implement|support|introduce|extend|enable|integrate|build|create|write|make|allow|expose",
    ),
}
"""English verbs that ask for work of a category where a sentence begins with them, and their weight."""

REQUESTED: Mapping[Category, str] = {
    Category.BUGFIX: either(
        r"beheb(?:e|t|en)|reparier(?:e|t|en)|korrigier(?:e|t|en)|lös(?:e|t|en)|flick(?:e|en)",
        r"arregl(?:a|ar|arlo|es|alo)|arréglal[oa]|corr(?:ige|egir|egirlo)|corrígel[oa]|solucion(?:a|ar|arlo)|"
        r"repar(?:a|ar|arlo)|resuelv(?:e|elo)|resolver(?:lo)?",
    ),
    Category.NEW_APP: either(
        r"(?:leg|legt|setz|setzt) (?:bitte )?ein neues projekt",
        r"(?:crea|crear|monta|montar|empieza) (?:un|una) (?:nuev[oa] )?(?:proyecto|aplicación|app|web)",
    ),
    Category.REFACTORING: either(
        r"refaktorier(?:e|t|en)|(?:um)?benenn(?:e|t|en)|umzubenennen|räum(?:e|t)?(?: \S+){0,4} auf|aufräumen|"
        r"vereinfach(?:e|t|en)|teil(?:e|t)?(?: \S+){0,4} auf|aufteilen|zieh(?:e|t)?(?: \S+){0,4} heraus|entkoppl?e\w*",
        r"refactoriz(?:a|ar)|renombr(?:a|ar)|simplific(?:a|ar)|extra(?:e|er)|conviert(?:e)|convertir|separ(?:a|ar)|"
        r"reorganiz(?:a|ar)|limpi(?:a|ar)|divid(?:e|ir)|desacopl(?:a|ar)",
    ),
    Category.DOCUMENTATION: either(
        r"dokumentier(?:e|t|en)|beschreib(?:e|t|en)?", r"document(?:a|ar|es)|describ(?:e|ir)"
    ),
    Category.ANALYSIS: either(
        r"untersuch(?:e|t|en)|analysier(?:e|t|en)|vergleich(?:e|t|en)|überprüf(?:e|t|en)|prüf(?:e|t|en)|erklär(?:e|t|en)|"
        r"bewert(?:e|et|en)|schätz(?:e|t|en)|find(?:e|et)?(?: \S+){0,2} heraus|herausfinden|miss|messen",
        r"analiz(?:a|ar)|investig(?:a|ar)|compar(?:a|ar)|explic(?:a|ar)|evalú(?:a)|evaluar|averigu(?:a|ar)|mid(?:e)|"
        r"medir|revis(?:a|ar)|estim(?:a|ar)|estudi(?:a|ar)",
    ),
    Category.FEATURE: either(
        r"füg(?:e|t)?(?: \S+){0,9} hinzu|hinzufügen|ergänz(?:e|t|en)|erweiter(?:e|n|t)|einbauen|bau(?:e|t)?(?: \S+){0,9} ein|"
        r"implementier(?:e|t|en)|unterstütz(?:e|t|en)|integrier(?:e|t|en)|ermöglich(?:e|t|en)|setz(?:e|t)?(?: \S+){0,6} um|"
        r"wir (?:brauchen|bräuchten|wollen|möchten)|ich (?:brauche|hätte gern)",
        r"añad(?:e|ir)|agreg(?:a|ar)|implement(?:a|ar)|integr(?:a|ar)|ampl(?:ía|iar)|permit(?:e|ir)|incorpor(?:a|ar)|"
        r"necesit(?:amos|o)|quier(?:o|emos) que",
    ),
}
"""German and Spanish forms that ask for work of a category, wherever they stand in a prompt."""

OTHER_REQUESTS = either(
    r"schreib(?:e|t)?|erstell(?:e|t|en)|zeig(?:e|t|en)|änder(?:e|n|t)|entfern(?:e|t|en)|lösch(?:e|t|en)|verschieb(?:e|t|en)|nimm|"
    r"mach(?:e|t)?|leg(?:e|t)?|aktualisier(?:e|t|en)|installier(?:e|t|en)|veröffentlich(?:e|t|en)|einspielen|gib|finde|erinner(?:e|t)?",
    r"escrib(?:e|ir)|crea(?:r)?|muestr(?:a)|mostrar|cambi(?:a|ar)|borr(?:a|ar)|elimin(?:a|ar)|muev(?:e)|mover|pon|haz|"
    r"actualiz(?:a|ar)|instal(?:a|ar)|public(?:a|ar)|publícal[oa]|súbel[oa]|desplieg(?:a)|mira|busca|monta",
)
"""German and Spanish forms that ask for something else."""

NOUNS: Mapping[Category, str] = {
    Category.BUGFIX: either(
        r"bugs?|throws|crash(?:es|ed|ing)?|traceback|stack ?trace|regressions?|broken|fail(?:s|ed|ing)|failures?|"
        r"memory leak|deadlocks?|race condition|flaky|wrong result|exceptions?|doesn't work|does not work|hangs?|"
        r"too slow|loses?|corrupt(?:s|ed)?|at random|stopped working|no longer works|empty|twice",
        r"fehlern?|stürzt|abstürz\w*|absturz|bricht(?: \S+){0,4} ab|verloren|schl(?:ägt|agen)(?: \S+){0,3} fehl|geht(?: \S+)? nicht|"
        r"funktioniert(?: \S+)? nicht|hängt|kaputt|defekt|zu langsam",
        r"falla(?:n)?|fallo|se cuelga|pierde|dos veces|no funciona|en blanco|rot[oa]|se bloquea|demasiado lent[oa]",
    ),
    Category.NEW_APP: either(
        r"new (?:\w+ )?(?:app|application|project|site|website|service|game|cli|library|package|repository|repo)|"
        r"from scratch|boilerplate|starter|cargo new|npm init|npm create|startproject|create-react-app",
        r"neue[sn]? (?:\w+ )?(?:app|anwendung|projekt|programm|webseite|dienst)|von grund auf|gerüst|grundgerüst",
        r"(?:aplicación|app|web|proyecto) nuev[oa]|nuev[oa] (?:aplicación|app|web|proyecto)|desde cero",
    ),
    Category.REFACTORING: either(
        r"refactor(?:ing|ed)?|technical debt|duplicat(?:ion|ed code)|clean-?up|dead code|"
        r"no (?:change in behaviou?r|behaviou?r change)|without changing (?:the )?behaviou?r",
        r"refaktorierung|technische schulden|doppelter code|denselben code|ohne das verhalten zu ändern",
        r"refactorización|deuda técnica|código duplicado|sin cambiar el comportamiento",
    ),
    Category.DOCUMENTATION: either(
        r"docs?|documentation|readme|docstrings?|changelog|tutorial|user guide|typos?",
        r"dokumentation|anleitung|handbuch|tippfehler|leitfaden",
        r"documentación|guía|manual|erratas|instrucciones",
    ),
    Category.ANALYSIS: either(
        r"analysis|comparison|benchmarks?|investigation|findings|profiling|trade-?offs?|root cause|bottlenecks?|"
        r"pros and cons|options|costs?|recommend(?:ation)?",
        r"analyse|vergleich|untersuchung|ursache|engpass|vor- und nachteile|warum|was spricht (?:für|gegen)",
        r"análisis|comparación|comparativa|investigación|causa|cuello de botella|ventajas|por qué|recomiendas",
    ),
    Category.FEATURE: either(
        r"features?|endpoints?|functionality|support for|option|command|button|dialog|form",
        r"funktion|schalter|knopf|befehl",
        r"función|funcionalidad|botón|opción|comando",
    ),
}
"""Words of what a category is about."""

READ_ONLY = either(
    r"(?:don't|do not) (?:change|touch|modify) (?:anything|any code)(?: yet)?",
    r"ohne etwas zu ändern|(?:ändere|ändern wir) (?:noch )?nichts",
    r"no cambies nada|sin cambiar nada",
)
"""What keeps a session from changing anything, so that it only finds out."""

RESOLVED = either(
    r"fixed|resolved|solved|works? (?:now|again)|now works?|pass(?:es|ed|ing)?|succeed(?:s|ed)|is green|are green|"
    r"repaired|corrected|gone|cleared",
    r"behoben|gelöst|repariert|funktioniert(?: \S+){0,2} (?:jetzt|wieder)|läuft(?: \S+){0,2} (?:jetzt|wieder|durch)|grün|"
    r"bestanden|besteht|bestehen|laufen(?: \S+){0,2} durch|lief(?: \S+){0,2} durch|steht wieder|verbindung steht|geht (?:jetzt|wieder)",
    r"arreglad[oa]s?|corregid[oa]s?|resuelt[oa]s?|solucionad[oa]s?|reparad[oa]s?|funciona(?: \S+)?(?: ahora| ya)|ya funciona|"
    r"ahora funciona|funciona|pasan?|en verde",
)
"""What says that an error is gone, unless it is denied."""

RESOLVED_SURELY = either(
    r"no longer|(?:0|no) (?:errors|failures)|not (?:once )?(?:again|any ?more|since)|without (?:a|an|any|one) \w+",
    r"fehlerfrei|fehlerlos|ohne fehler|keine? (?:\w+ )?(?:fehler|fehlschläge)(?: mehr)?|tritt(?: \S+){0,2} nicht mehr|nicht mehr auf",
    r"ya no (?:aparece|sale|ocurre|falla|pasa|se produce)|sin (?:errores|fallos|error)|ningún (?:error|fallo)",
)
"""What says so by denying the error."""

DENIED = either(
    r"not|\w+n't|never|still|without being|yet to|once|until|should be|will be|[1-9]\d* (?:tests? )?fail\w*",
    r"nicht|kein\w*|nie|niemals|noch|bis (?:der|die|das|es|alle)|sollte\w*|werden wir|solange|schl(?:ägt|agen|ugen)",
    r"no (?:se|está|están|funciona|pasan?|he|ha|han|hemos|lo|la|queda|fue|era|puede\w*)|nunca|todavía|aún|hasta que|debería\w*|sigue\w*|falla\w*|sin resolver",
)
"""What denies or only hopes it."""

CORRECTION = (
    r"\bstill (?:fail|broken|wrong|crash|empty|red|happen|slow|hang|open|there|not |doesn't|does not|the same|get|see|error)|"
    r"\b(?:that|this|it)(?:'s| is) (?:wrong|not (?:right|what|correct))|\b(?:doesn't|does not|didn't|did not) work|"
    r"\bnot working\b|\b(?:undo|revert) (?:that|this|it|your)|\byou (?:broke|forgot|missed|misunderstood)|^no, |"
    r"\bimmer noch\b|\bhilft nicht|\b(?:das|es) (?:ist|war) falsch|\b(?:das|es) stimmt(?: so)? nicht|(?<!das )\bstimmt nicht|"
    r"\b(?:geht|funktioniert|läuft)(?: \S+)? nicht|\bmach das rückgängig|\bdu hast \w+ vergessen|\bgleicher fehler|"
    r"\bsigue (?:sin|fallando|igual|en)|\bestá mal|\bno es (?:correct[oa]|así)|\bno funciona|\bvolvió a|\bha vuelto a|"
    r"\bno (?:está|estaba) bien|\bte (?:olvidaste|has olvidado)"
)
"""What a prompt says of an answer that was not right."""

DONE = either(
    r"added|fixed|implemented|created|wrote|written|updated|removed|renamed|refactored|moved|replaced|changed|documented|"
    r"deployed|merged|committed|released|resolved|finished|completed|installed|configured|migrated|extracted|measured|"
    r"found|introduced|passes|pass|passing|done|split|rewrote|pushed|published|deleted|gone|forced|compared|took|loaded",
    r"hinzugefügt|eingebaut|behoben|umgesetzt|angelegt|geändert|umbenannt|aufgeteilt|verschoben|herausgezogen|geschrieben|entfernt|"
    r"ergänzt|berichtigt|verbessert|repariert|gelöst|veröffentlicht|ausgeliefert|eingespielt|eingerichtet|eingestellt|umgestellt|"
    r"angepasst|erstellt|implementiert|dokumentiert|gemessen|gefunden|getestet|aktualisiert|installiert|erledigt|nachgestellt|"
    r"abgedeckt|verschickt|bestanden|grün|fertig|aufgenommen",
    r"(?:he|hemos|ha sido|han sido|está|están|queda|quedan|ha quedado) (?:\w+ )?\w{2,}(?:ado|ido|ada|ida|ados|idos|adas|idas|cho|"
    r"sto|ito|ierto|uelto)|añadí|creé|cambié|corregí|arreglé|hice|escribí|moví|medí|probé|publiqué|pasan|hecho",
)
"""What tells of something done, unless it is denied."""

DONE_FIRST = r"^\W*(?:\w{2,}(?:ado|ido|ada|ida|ados|idos|adas|idas)|resuelt[oa]s?|hecho|escrit[oa]s?)(?![^\W_])"
"""A Spanish sentence that begins with what was done."""

CHANGED = either(r"(?<!right )now", r"jetzt|nun", r"ahora")
"""What says, in an answer, that something is otherwise than before."""

INTENDED = either(
    r"let me|i'll|i will|i'm|going to|looking|would|next|shall",
    r"als nächstes|würde|werde|möchte",
    r"voy a|faltaría|propongo|sería",
)
"""What only announces it."""

SUITE_GREEN = (
    r"\b(?:all|\d+)(?: of)?(?: the)?(?: \w+)? (?:tests? )?(?:pass(?:es|ed|ing)?|are green|is green)\b|\btests? (?:now )?"
    r"pass(?:es|ed)?\b|\bsuite (?:is green|passes)\b|\b(?:go test|cargo test|gradlew test|npm test|pytest|doctests?)\S*(?: \S+)? pass(?:es)?\b|"
    r"\btests?\b[^.!?]{0,60}\b(?:grün|bestanden|bestehen|besteht|durch|fehlerfrei)\b|\balle grün\b|\bgo test läuft fehlerfrei|"
    r"\bpasan (?:todas )?las\b|\bpruebas\b[^.!?]{0,40}\bpasan\b|\btodas pasan\b|\bpruebas en verde\b"
)
"""What says that tests passed, unless it is denied."""

LANDED = either(
    r"committed|merged|pushed|released|deployed|published|shipped|rolled out|(?:is|are|went) live",
    r"committet|gemergt|eingespielt|ausgeliefert|veröffentlicht|ausgerollt|im repository",
    r"publicad[oa]s?|desplegad[oa]s?|subid[oa]s?|fusionad[oa]s?|en producción|en marcha",
)
"""What says that the work has left the desk, unless it is denied."""

RELEASED = either(
    r"released|deployed|rolled out|shipped|to production|all regions|customers?|users",
    r"ausgeliefert|ausgerollt|veröffentlicht|produktion|kunden|nutzer",
    r"desplegad[oa]s?|publicad[oa]s?|en producción|clientes|usuarios",
)
"""What says that it reaches people."""

ERRORS = (
    r"(?:fatal|panic|error|fehler)(?:\[\w+\]| TS\d+)?: *[^\n`]{3,160}|SQLSTATE\[\w+\]: *[^\n`]{3,160}|"
    r"segmentation fault|core dumped|stack overflow|out of memory|panicked at [^\n`]{3,160}|"
    r"exit(?:ed with)? (?:code|status) [1-9]\d*|HTTP [45]\d\d|[1-9]\d* (?:tests? )?(?:failed|failing|failures)|"
    r"[1-9]\d* tests? schl(?:agen|ugen) fehl|fallan [1-9]\d* pruebas"
)
"""How an error is told that has no name."""

MET = either(
    r"got|get|gets|getting|gives?|throws?|threw|raises|raised|fail(?:s|ed|ing)?|crash\w*|hit|saw|see|seeing|traceback|"
    r"caused by|because of|met|error|was|died|logs",
    r"wirft|warf|meldet|schl(?:ägt|ug|agen|ugen)|steht|kommt|bekomme|fehler|protokoll",
    r"falla\w*|sale|aparece|lanza|da|se ve|error|registros?",
)
"""What says that a named error was met."""

PAST_CAUSE = either(
    r"was|were|because|caused|the (?:reason|cause)",
    r"war|waren|lag|weil|grund|ursache",
    r"era|eran|fue|porque|causa|motivo|había|faltaba",
)
"""What says of an error, told after its end, that it is past."""
