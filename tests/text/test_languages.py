import pytest

from minutebook.text.languages import LATIN, likely_languages, stems
from minutebook.text.words import parse_query, phrase, terms, words


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Who pays for the servers?", "english"),
        ("Wer bezahlt diese Rechnung eigentlich?", "german"),
        ("Wie betaalt de rekening van Piet?", "dutch"),
        ("Qui paie la facture de Paul?", "french"),
        ("¿Quién paga la factura mensual?", "spanish"),
        ("Quem paga a fatura do servidor?", "portuguese"),
        ("Chi paga la fattura del server?", "italian"),
        ("Cine plătește factura pentru server?", "romanian"),
        ("Qui paga aquesta factura amb retard?", "catalan"),
        ("Vem betalar räkningen för servern?", "swedish"),
        ("Hvem betaler regningen for serveren?", "danish"),
        ("Hvem betaler regningen til slutt etter møtet?", "norwegian"),
        ("Kuka maksaa laskun ja milloin?", "finnish"),
        ("Ki fizeti a számlát holnap?", "hungarian"),
        ("Kto płaci rachunek za serwer?", "polish"),
        ("Kdo platí účet za server?", "czech"),
        ("Sunucu faturasını kim ödüyor?", "turkish"),
        ("Siapa yang membayar tagihan ini?", "indonesian"),
        ("Ai trả hóa đơn máy chủ?", "vietnamese"),
        ("Кто платит за этот сервер?", "russian"),
        ("Ποιος πληρώνει τον λογαριασμό αυτό;", "greek"),
        ("من يدفع فاتورة الخادم هذه؟", "arabic"),
        ("چه کسی صورتحساب را می پردازد؟", "persian"),
        ("इस सर्वर का बिल कौन देता है?", "hindi"),
    ],
)
def test_a_sentence_of_some_five_words_shows_its_language(text: str, language: str) -> None:
    likely = likely_languages(words(text), text)
    assert language in likely
    assert len(likely) <= 4


@pytest.mark.parametrize(
    ("text", "likely"),
    [
        ("", ()),
        ("Falcon", LATIN),
        ("谁负责这个项目？", ()),
        ("谁负责 Falcon 项目？", ()),
        ("the Müller account of the bank", ("english",)),
        (" ".join(f"key_{n}" for n in range(20)), ()),
    ],
)
def test_what_says_nothing_is_no_language_or_any(text: str, likely: tuple[str, ...]) -> None:
    assert likely_languages(words(text), text) == likely


def is_found(text: str, query: str) -> bool:
    return bool({*parse_query(query).terms} & {*terms(text)})


@pytest.mark.parametrize(
    ("text", "found", "others"),
    [
        (
            "Wir haben zwei Häuser in Köln gekauft und alle Rechnungen bezahlt.",
            ["Haus", "Wo steht das Haus?", "Rechnung", "die Rechnung", "kaufen gekauft"],
            ["Maus", "Zweig", "Was kostet der Zahn?"],
        ),
        (
            "Die Rechnungsprüfung beginnt mit der Sicherheitsabfrage.",
            ["Rechnung", "Prüfungen", "Wann ist die Prüfung?", "Abfragen", "Sicherheit"],
            ["Richtung", "Absage"],
        ),
        (
            "El equipo aprobó las decisiones sobre los presupuestos.",
            ["decisión", "presupuesto", "¿Quién aprobó el presupuesto?", "equipos"],
            ["precio", "¿Quién despidió al conserje?"],
        ),
        (
            "Les décisions ont été validées par les équipes nationales.",
            ["décision", "nationale", "Quelle équipe a validé la décision ?", "valider"],
            ["incision", "la natation", "Quel prix a gagné le vélo ?"],
        ),
        (
            "As organizações enviaram as informações aos funcionários.",
            ["organização", "informação", "Qual funcionário enviou?", "enviar"],
            ["órgão", "Qual fundação fechou?"],
        ),
        (
            "Le riunioni settimanali sono state spostate dai colleghi.",
            ["riunione", "settimanale", "Chi ha spostato la riunione?", "collega colleghi"],
            ["regione", "Chi ha vinto la corsa?"],
        ),
        (
            "De vergaderingen van gisteren zijn door de directeuren verplaatst.",
            ["vergadering", "Wanneer is de vergadering?", "directeur"],
            ["verzekering", "Wat kost het huis?"],
        ),
        (
            "Решения архитекторов были приняты на последних встречах.",
            ["решение", "архитектор", "Кто принял решение?", "встреча", "последняя встреча"],
            ["решето", "Где находится вокзал?"],
        ),
        (
            "Toplantılardaki kararlar müdürler tarafından alındı.",
            ["karar", "kararların", "Hangi kararlar alındı?", "müdür"],
            ["kar", "Bugün hava nasıl?"],
        ),
        (
            "اتخذ المهندسون القرارات المعمارية في الاجتماع.",
            ["قرار", "ما هو القرار المعماري؟", "مهندس", "اجتماع"],
            ["قرد", "أين تقع المحطة؟"],
        ),
        (
            "Οι μηχανικοί πήραν τις αποφάσεις και εγκρίθηκαν στη συνάντηση.",
            ["απόφαση", "μηχανικός", "Ποια απόφαση εγκρίθηκε;"],
            ["αποθήκη", "Πού είναι ο σταθμός;"],
        ),
        (
            "टीम के निर्णयों को कर्मचारियों ने लिखा।",
            ["निर्णय", "कर्मचारी"],
            ["निर्माण", "स्टेशन कहाँ है?"],
        ),
        (
            "تصمیم‌های مهندسان در جلسه‌ها گرفته شد.",
            ["تصمیم", "جلسه", "کدام تصمیم گرفته شد؟"],
            ["قطار", "ایستگاه کجا است؟"],
        ),
        (
            "Möten med kunderna flyttades till veckorna efter semestern.",
            ["kund", "möte", "När är mötet med kunden?", "vecka veckor"],
            ["kulle", "Vad kostar båten?"],
        ),
        (
            "Decyzje inżynierów zostały zatwierdzone na spotkaniach.",
            ["decyzja", "Kto zatwierdził decyzję?", "spotkanie"],
            ["deszcz", "Gdzie jest dworzec?"],
        ),
        (
            "Công ty đã phát hành hóa đơn cho khách hàng.",
            ["hóa đơn", "hoa don", "Khách hàng nào?"],
            ["xe đạp", "màu xanh"],
        ),
        (
            "ทีมงานตัดสินใจเลื่อนการประชุมออกไป",
            ["ประชุม", "การประชุม", "ตัดสินใจ", "ใครเลื่อนการประชุม"],
            ["รถไฟ", "ลม", "สถานีอยู่ที่ไหน"],
        ),
        ("团队决定推迟下周的会议。", ["会议", "推迟会议", "谁决定推迟？"], ["火车", "议会"]),
        (
            "会議は来週に延期されました。",
            ["会議", "延期", "会議はいつですか"],
            ["列車", "駅はどこ"],
        ),
        ("회의는 다음 주로 연기되었습니다.", ["회의", "회의가", "연기"], ["기차", "역은 어디"]),
        ("ក្រុមបានសម្រេចពន្យារការប្រជុំ", ["ប្រជុំ", "ការប្រជុំ", "សម្រេច"], ["រថភ្លើង"]),
        ("ທີມງານຕັດສິນໃຈເລື່ອນກອງປະຊຸມ", ["ປະຊຸມ", "ຕັດສິນໃຈ"], ["ລົດໄຟ"]),
        ("အဖွဲ့သည်အစည်းအဝေးကိုရွှေ့ဆိုင်းခဲ့သည်", ["အစည်းအဝေး", "ရွှေ့ဆိုင်း"], ["ရထား"]),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_a_text_is_found_by_other_forms_of_its_words_and_not_by_other_words(
    text: str, found: list[str], others: list[str]
) -> None:
    assert [query for query in found if not is_found(text, query)] == []
    assert [query for query in others if is_found(text, query)] == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Jones met the Panthers in Denver.", "Wann hat Jones die Panthers getroffen?"),
        ("Jones met the Panthers in Denver.", "¿Cuándo vio Jones a los Panthers?"),
        ("Meeting about Kubernetes with Ana.", "Was sagte Ana über Kubernetes?"),
        ("Rechnungen Maier", "Hat Herr Maier seine Rechnung bezahlt?"),
        ("Müllers Häuser: 3", "Wie viele Häuser hat Frau Müller?"),
    ],
)
def test_names_meet_whatever_the_languages_of_text_and_question(text: str, query: str) -> None:
    assert is_found(text, query)


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("Wir haben die Häuser gekauft.", "Häuser gekauft"),
        ("Где находится главный офис компании?", "главный офис"),
        ("ทีมงานตัดสินใจเลื่อนการประชุมออกไป", "การประชุม"),
    ],
)
def test_a_phrase_stands_among_the_words_and_not_among_the_stems(text: str, run: str) -> None:
    listed, sought = terms(text), phrase(words(run))
    places = [
        place
        for place in range(len(listed))
        if tuple(listed[place : place + len(sought)]) == sought
    ]
    assert len(places) == 1
    assert places[0] < len(words(text))


def test_stems_do_not_stand_in_a_row() -> None:
    (sought,) = parse_query('"Haus Kind"').phrases
    listed = terms("Alle Häuser, aber auch die Kinder der Stadt.")
    assert set(sought) <= set(listed)
    assert all(listed[n : n + 2] != list(sought) for n in range(len(listed)))


def test_each_word_of_a_question_counts_alike() -> None:
    query = parse_query("Welche Häuser hat Köln verkauft?")
    assert query.forms == 2
    assert query.terms == ("hauser", "haus", "koln", "koln", "verkauft", "verkauft")


def test_an_english_question_is_asked_by_one_form_of_each_word() -> None:
    query = parse_query("Which houses did the city sell?")
    assert query.forms == 1
    assert query.terms == ("hous", "citi", "sell")


def test_a_word_of_an_indian_script_that_is_none_at_its_end_takes_no_more_work() -> None:
    assert stems("क" * 63 + "1", ("hindi",)) == ()
    assert parse_query("क" * 63 + "1 और यह है").terms
