"""Words that say little of what a text is about, beside those that a text index leaves out.

English, German, Spanish and French. `FILLERS` are words of any talk; `FUNCTION_WORDS` cannot end a phrase.
"""

from minutebook.search.text import word_terms

_ENGLISH = """
    really great glad know think love feel feeling thanks thank good time people make makes making lot lots like get
    got getting going went come came way thing things something anything everything someone need want see look looks
    looking tell said say says talk talking sure yeah wow hey cool awesome amazing nice keep let much many always never
    ever still even well back now new day days today week last next year years been definitely totally pretty maybe
    take taking took try trying give gives hope happy fun wonderful best better big little bit kind sounds sound yes
    please help helped helps important special life find found guess guys ones one two also started start excited
    appreciate photo picture check share sharing super couple wait mean means work works agree through around lately
    recently soon made together moments stay strong inspiring forward beautiful powerful journey experience since
"""
_GERMAN = """
    der die das den dem des ein eine einen einem einer eines kein keine keinen ich du er sie es wir ihr mich dich uns
    euch mir dir ihm ihn ihnen mein meine dein deine sein seine unser unsere euer dieser diese dieses diesen diesem
    jener und oder aber denn weil wenn dass ob als wie wo wer was wann warum nicht auch nur noch schon sehr so dann
    doch mal ja nein jetzt nun hier dort da also am an auf aus bei bis durch für gegen im in ins mit nach ohne seit
    über um unter vom von vor während wegen zu zum zur ist sind war waren bin bist sei gewesen hat habe haben hatte
    hatten wird werden wurde wurden kann können könnte könntest kannst muss müssen soll sollen sollte will wollen möchte
    mag darf bitte danke gern gerne gut prima alle alles etwas mehr man je sich einfach machen macht gibt geht gehen
    kommt steht lassen
"""
_SPANISH = """
    el la los las un una unos unas lo al del de en con por para sin sobre entre hasta desde hacia y e o u pero sino
    aunque porque que qué quien quién cual cuál como cómo cuando cuándo donde dónde cuanto cuánto si sí no ni ya muy más
    menos también tampoco solo sólo bien mal aquí ahí allí ahora entonces pues yo tú él ella nosotros ellos ellas me te
    se nos os le les mi tu su sus mis tus nuestro nuestra este esta esto estos estas ese esa eso esos esas aquel es son
    era eran fue fueron ser sido soy está están estaba estar he ha has han hemos había haber hay tiene tienen tengo
    puede puedes podrías puedo debe quiero quiere hace hacer hecho va voy vamos todo toda todos todas otro otra cada
    algo nada gracias favor vez veces
"""
_FRENCH = """
    le la les l un une des du de d au aux ce cet cette ces ceci cela ça je j tu il elle on nous vous ils elles me m te t
    se s moi toi lui leur leurs mon ma mes ton ta tes son sa ses notre nos votre vos et ou où mais donc car ni que qu qui
    quoi quand comment pourquoi quel quelle quels quelles combien dont ne n pas plus aussi très bien tout toute tous
    toutes même est sont était étaient été suis es êtes sommes avoir a ai as ont avait avaient fait faire peut peuvent
    c doit dans sur sous avec sans pour par en entre vers chez depuis pendant avant après si comme y là alors puis encore
    déjà oui non merci plutôt désormais maintenant toujours peu trop jusqu lorsque parce fois
"""
_ENDS_NOTHING = """
    a an the and or of in on at to for from with by as is are was were be been that this it its if when while our your
    my their we i you into not has have had do does than but because so which who whose
    der die das den dem des ein eine einen einem einer eines und oder aber von vom zu zum zur mit für auf im in an am
    bei aus nach über ist sind war waren dass wenn weil als wie ich du wir nicht um
    el la los las un una unos unas y e o de del en al con por para que se es son como si cuando lo su sus mi no a
    le les l des du d au aux et ou mais donc car dans sur sous avec sans pour par est sont être qui quand si ce cette ces
    ne n qu je tu il elle nous vous ils elles mon ma mes son sa ses leur leurs plus très
"""
_ONLY_GERMAN = """
    der die das den dem des ein eine einen einem einer und oder nicht ist sind bitte wir ich für mit auf von zu zum zur
    im beim vom dass wenn weil wird werden
"""
_ONLY_ENGLISH = "the a an of and to is are that for with our we please can you"

FILLERS = frozenset((_ENGLISH + _GERMAN + _SPANISH + _FRENCH).split())
"""Lower case, as written."""

_NO_FILLERS = frozenset({"import"})

FILLER_TERMS = (
    frozenset(term for word in FILLERS for term in (word, *word_terms(word))) - _NO_FILLERS
)
"""The same, and as the terms of a text; without the stem of `important`, which is a word of its own."""

FUNCTION_WORDS = frozenset(_ENDS_NOTHING.split())
"""Words that must not end a phrase."""

GERMAN_SIGNS = frozenset(_ONLY_GERMAN.split()) - frozenset(_ONLY_ENGLISH.split())
"""Words of which a German sentence holds one."""
