"""Words that carry grammar rather than meaning, by language, as they are written.

They tell in which language a text is, and say nothing of what it is about. Names are Snowball's.
"""

FUNCTION_WORDS = {
    "english": """
        the a an this that these those i me my we us our you your he him his she her it its they them their is are was
        were be been being am do does did have has had can could might must shall should will would and or but nor if
        then than as because while although though until unless of at by for with about against between into through
        during before after above below to from up down in on off over under upon within without again once here there
        when where why how what which who whose any both each few more most other some such not only own same too very
        just also don doesn isn wasn t s ll re ve
    """,
    "german": """
        der die das den dem des ein eine einen einem einer eines kein keine keinen keiner ich du er sie es wir ihr mich
        dich sich uns euch mir dir ihm ihn ihnen mein meine meinen dein deine sein seine seinen seiner ihre ihren ihrem
        unser unsere dieser diese dieses diesen diesem jeder jede jedes jener und oder aber denn weil wenn dass ob als
        wie wo wer wen wem was wann warum welche welcher welches welchen wieviel viele nicht auch nur noch schon sehr
        dann doch hier dort da am an auf aus bei beim bis durch für gegen im in ins mit nach ohne seit über um unter vom
        von vor während wegen zu zum zur zwischen ist sind war waren bin bist wird werden wurde wurden worden hat haben
        hatte hatten kann können könnte muss müssen soll sollen sollte will wollen möchte darf man je mehr so
    """,
    "dutch": """
        de het een der den dit dat deze die ik jij je u hij zij ze wij we jullie hen hun mij me jou ons onze mijn zijn
        haar uw is was waren ben bent word wordt worden werd werden heeft hebben had hadden kan kunnen kon moet moeten
        zal zullen zou zouden wil willen mag en of maar want omdat als dan toen terwijl niet geen ook nog al wel maar
        heel meer wat wie waar wanneer waarom hoe welke welk hoeveel van voor op in aan bij met naar door over onder uit
        om tot tegen tussen zonder sinds te er hier daar
    """,
    "french": """
        le la les un une des du de d l au aux ce cet cette ces ceci cela ça je j tu il elle on nous vous ils elles me m
        te t se s moi toi lui leur leurs mon ma mes ton ta tes son sa ses notre nos votre vos et ou où mais donc car ni
        or que qu qui quoi quand comment pourquoi quel quelle quels quelles combien dont lequel laquelle ne n pas plus
        aussi très bien tout toute tous toutes même être est sont était étaient été suis es êtes sommes avoir a ai as
        ont avait avaient fait faire peut peuvent doit dans sur sous avec sans pour par en entre vers chez depuis
        pendant avant après contre si comme c y
    """,
    "spanish": """
        el la los las un una unos unas lo al del de en con por para sin sobre entre hasta desde hacia según durante y e
        o u pero sino aunque porque que qué quien quién quienes cual cuál cuáles como cómo cuando cuándo donde dónde
        cuanto cuánto cuánta cuántos cuántas si sí no ni ya muy más menos también tampoco yo tú él ella nosotros ellos
        ellas usted ustedes me te se nos os le les mi mis tu tus su sus nuestro nuestra nuestros este esta esto estos
        estas ese esa eso esos esas aquel aquella es son era eran fue fueron ser sido soy está están estaba estar he ha
        has han hemos había haber hay tiene tienen puede pueden debe hace todo toda todos todas otro otra cada
    """,
    "portuguese": """
        o a os as um uma uns umas ao aos à às do da dos das no na nos nas num numa pelo pela pelos pelas de em com por
        para sem sobre entre até desde e ou mas porém porque que quem qual quais como quando onde quanto quanta quantos
        quantas se não nem já muito mais menos também eu tu ele ela nós vós eles elas você vocês me te lhe lhes meu
        minha meus minhas teu tua seu sua seus suas nosso nossa este esta isto estes estas esse essa isso aquele aquela
        aquilo é são era eram foi foram ser sido sou está estão estava estar há tem têm tinha pode podem deve ter todo
        toda todos todas outro outra cada foi
    """,
    "italian": """
        il lo la i gli le un uno una l al allo alla ai agli alle del dello della dei degli delle dal dallo dalla dai
        dagli dalle nel nello nella nei negli nelle sul sullo sulla sui sugli sulle di a da in con su per tra fra e ed o
        ma però perché che chi cui quale quali come quando dove quanto quanta quanti quante se non né già molto più meno
        anche io tu lui lei noi voi loro mi ti si ci vi ne mio mia tuo tua suo sua suoi sue nostro nostra questo questa
        questi queste quello quella quelli è sono era erano fu furono essere stato stata sia ho hai ha hanno abbiamo
        aveva avere può possono deve fare tutto tutta tutti tutte ogni altro altra
    """,
    "romanian": """
        un o unei unui niște al a ai ale de la în din pe cu fără pentru prin spre sub peste între după până lângă și sau
        dar însă ci deci că să ca dacă când unde cum cine ce care cui cât câtă câți câte nu nici mai foarte tot toți
        toate prea eu tu el ea noi voi ei ele mă te îl îi le se își își mi ți i meu mea tău ta său sa lui lor nostru
        acest această acesta aceasta acești aceste acel acea acela este e sunt era erau fi fost am ai are au avea avem
        aveau a fost poate pot trebuie s-a
    """,
    "catalan": """
        el la els les un una uns unes l d al als del dels pel pels de en amb per a sense sobre entre fins des cap i o
        però sinó perquè que què qui quin quina quins quines com quan on quant quanta quants si no ni ja molt més menys
        també jo tu ell ella nosaltres vosaltres ells elles em et es ens us hi ho li meu meva teu seu seva nostre aquest
        aquesta això aquests aquestes aquell és són era eren va van ser estat està estan he ha han hem havia té tenen
        pot poden ha tot tota tots totes altre altra cada
    """,
    "swedish": """
        en ett den det de denna detta dessa jag du han hon vi ni mig dig sig honom henne oss er dem min mitt mina din
        ditt sin sitt sina hans hennes vår vårt våra deras är var varit vara blir blev bli har hade ha kan kunde ska
        skall skulle vill måste får och eller men för att om när där här hur vad vem vilken vilket vilka varför som inte
        ingen också bara mycket mer mest av på i till från med vid under över mellan genom utan efter före mot än då nu
        så många
    """,
    "danish": """
        en et den det de denne dette disse jeg du han hun vi i mig dig sig ham hende os jer dem min mit mine din dit sin
        sit sine hans hendes vores deres er var været være bliver blev blive har havde have kan kunne skal skulle vil
        ville må måtte og eller men for at om når hvor her der hvordan hvad hvem hvilken hvilket hvilke hvorfor som ikke
        ingen også kun meget mere mest af på i til fra med ved under over mellem gennem uden efter før mod end da nu så
        mange
    """,
    "norwegian": """
        en et ei den det de denne dette disse jeg du han hun vi dere meg deg seg ham henne oss dem min mitt mine din
        ditt sin sitt sine hans hennes vår vårt våre deres er var vært være blir ble bli har hadde ha kan kunne skal
        skulle vil ville må måtte og eller men for at om når hvor her der hvordan hva hvem hvilken hvilket hvilke
        hvorfor som ikke ingen også bare mye mer mest av på i til fra med ved under over mellom gjennom uten etter før
        mot enn da nå så mange
    """,
    "finnish": """
        on oli ovat olivat ole ollut olla olen olet olemme se ne tämä tämän nämä tuo ei eivät en et emme ja tai mutta
        sekä että jos kun koska kuin niin myös vain vielä jo nyt hyvin hän he minä sinä me te minun sinun hänen meidän
        heidän joka jotka jonka jossa mikä mitä missä milloin miksi miten kuka ketkä kuinka monta mistä kanssa ilman
        ennen jälkeen mukaan kaikki oma itse sitä sen siitä tässä
    """,
    "hungarian": """
        a az egy ez azt ezt ezek azok és vagy de hogy ha mert mint is nem ne sem csak már még meg nagyon én te ő mi ti
        ők engem téged őt minket nekem neki van vannak volt voltak lesz lenne legyen lett ki mi mit mikor hol hova
        honnan miért hogyan melyik milyen mennyi hány amely aki ami után előtt között alatt által szerint át el fel le
        be kell lehet minden
    """,
    "polish": """
        i a o w we z ze na do od po za przez przed przy pod nad między dla bez u oraz lub albo ale lecz że żeby jeśli
        gdy kiedy gdzie jak co kto kogo komu czego jaki jaka jakie który która które których ile dlaczego czy nie tak
        też także tylko już jeszcze bardzo ja ty on ona ono my wy oni one mnie ciebie jego jej ich się mi mu go mój moja
        twój swój ten ta to te tego tej tym tych jest są był była było byli być będzie będą został została zostały ma
        mają może można
    """,
    "czech": """
        a i o v ve z ze na do od po za přes před při pod nad mezi pro bez u k ke s se si nebo ale že aby jestli když kdy
        kde jak co kdo koho komu čeho jaký jaká jaké který která které kterých kolik proč ne ano také jen už ještě velmi
        já ty on ona ono my vy oni mě tě ho jeho její jejich můj moje tvůj svůj ten ta to ty toho té tím těch je jsou
        byl byla bylo byli být bude budou jsem jsi jsme má mají může lze
    """,
    "turkish": """
        bir bu şu o ben sen biz siz onlar bana sana ona bizi beni seni onu benim senin onun bizim sizin onların ve veya
        ya da de ama fakat ancak çünkü ki ile için gibi kadar göre sonra önce daha en çok az her hiç bazı tüm değil var
        yok mi mı mu mü ne kim kime neden niçin nasıl nerede nereye hangi kaç zaman olan olarak oldu olduğu ise idi
        edilen eden diye üzerinde arasında tarafından
    """,
    "indonesian": """
        yang dan di ke dari untuk dengan pada dalam oleh adalah ialah ini itu tidak bukan akan telah sudah sedang masih
        juga atau tetapi karena jika bahwa agar saya aku kamu anda dia ia kami kita mereka nya para sebuah seorang suatu
        apa siapa kapan dimana mana mengapa bagaimana berapa lebih sangat hanya bisa dapat harus ada tentang antara
        setelah sebelum seperti sebagai
    """,
    "vietnamese": """
        và của là có không được cho với các những một này đó khi thì mà nào gì ai đâu sao bao nhiêu từ trong trên dưới
        để bởi vì nếu nhưng hoặc cũng đã đang sẽ rất tôi bạn anh chị chúng ta họ nó ở ra vào đến như về theo tại
    """,
    "russian": """
        и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по ее её мне было вот от меня еще
        нет о из ему когда даже ну ли если уже или ни быть был него до вас опять вам ведь там потом себя может они тут
        где есть надо ней для мы тебя их чем была были сам чтоб чтобы без чего раз тоже себе под будет кто этот того
        потому этого какой какая какие каких каком каким сколько который которая которые которых при об это эта эти этой
        этом
    """,
    "greek": """
        ο η το οι τα του της των τον την τους τις ένας μία μια ένα και ή αλλά όμως γιατί ότι πως που να θα δεν μην αν
        όταν πού πώς ποιος ποια ποιο ποιοι ποιες πόσο πόσοι πόσες πόσα τι σε στο στη στην στον στους στις στα με από για
        προς μετά πριν χωρίς μέχρι κατά είναι ήταν είμαι έχει έχουν είχε εγώ εσύ αυτός αυτή αυτό αυτοί εμείς μου σου μας
        σας πολύ πιο και ως
    """,
    "arabic": """
        في من على إلى عن مع بين حتى منذ خلال بعد قبل تحت فوق عند لدى و أو ثم لكن بل إن أن لأن إذا لو كما ما ماذا من متى
        أين كيف كم لماذا هل أي هذا هذه ذلك تلك هؤلاء الذي التي الذين هو هي هم هن أنا أنت نحن لا لم لن ليس ليست كان كانت
        كانوا يكون تكون قد كل بعض غير
    """,
    "persian": """
        در از به با برای تا و یا که این آن را است بود شد شده می هم نیز اگر چه چرا چگونه کجا کی کدام چند ما من تو او شما
        آنها ایشان هر یک بر ولی اما پس پیش بین نه هست نیست های
    """,
    "hindi": """
        का की के को में से पर ने और या लेकिन कि यदि तो है हैं था थी थे हो होता होती हुआ हुई हुए गया गई गए यह वह ये वे इस उस इन उन
        मैं हम तुम आप मेरा तेरा उसका उनके क्या कौन कब कहाँ कैसे क्यों कितना कितने कितनी कौनसा किस किसने जो नहीं न भी ही तक साथ लिए बाद
        एक कर करने द्वारा
    """,
}
