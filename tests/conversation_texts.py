"""Small texts that are conversations, and texts that look a little like one and are none."""

from textwrap import dedent


def _text(text):
    return dedent(text).strip("\n") + "\n"


# Each with the speakers of its turns, in order.
TRANSCRIPTS = {
    "paragraphs": ("Ann: Is there tea?\n\nBob: Yes, there is.\n\nAnn: Good.\n\nBob: Green or "
                   "black?\n", "Ann Bob Ann Bob"),
    "lines": ("Ann: Is there tea?\nBob: Yes, there is.\nAnn: Good.\nBob: Green or black?\n", "Ann Bob Ann Bob"),
    "windows line ends": ("Ann: Is there tea?\r\n\r\nBob: Yes.\r\n\r\nAnn: Good.\r\n\r\nBob: "
                          "Green?\r\n", "Ann Bob Ann Bob"),
    "roles": ("Ann Lee (Chair): Shall we start?\n\nMr. O'Neil (Kent, Lib.): Yes.\n\nAnn Lee (Chair): Good.\n\nMr. "
              "O'Neil: Thanks.\n", "Ann Lee|Mr. O'Neil|Ann Lee|Mr. O'Neil"),
    "nested roles": ("The Chair (Hon. A. Rota (North, Lib.)): Order?\n\nMs. May: Yes.\n\nThe Chair (Hon. A. Rota "
                     "(North, Lib.)): Order.\n\nMs. May: Fine.\n", "The Chair|Ms. May|The Chair|Ms. May"),
    "bold, colon inside": ("**Ann:** Is there tea?\n\n**Bob:** Yes.\n\n**Ann:** Good.\n\n**Bob:** "
                           "Which?\n", "Ann Bob Ann Bob"),
    "bold, colon outside": ("**Ann**: Is there tea?\n\n**Bob**: Yes.\n\n**Ann**: Good.\n\n**Bob**: "
                            "Which?\n", "Ann Bob Ann Bob"),
    "italic": ("*Ann:* Is there tea?\n\n*Bob:* Yes.\n\n*Ann:* Good.\n\n*Bob:* Which?\n", "Ann Bob Ann Bob"),
    "stamps first": ("[00:00:02] Ann: Is there tea?\n[00:00:05] Bob: Yes.\n[00:00:09] Ann: Good\n[00:00:11] "
                     "Bob: Which\n", "Ann Bob Ann Bob"),
    "bare stamps first": ("00:02 Ann: Is there tea?\n00:05 Bob: Yes.\n00:09 Ann: Good\n00:11 "
                          "Bob: Which\n", "Ann Bob Ann Bob"),
    "stamps after the name": ("Ann (00:02): Is there tea?\n\nBob (00:05): Yes.\n\nAnn (00:09): Good\n\nBob "
                              "(00:11): Which\n", "Ann Bob Ann Bob"),
    "ranges": ("[00:02 - 00:04] Ann: Is there tea?\n\n[00:05 - 00:08] Bob: Yes.\n\n[00:09 - 00:10] Ann: "
               "Good\n\n[00:11 - 00:12] Bob: Which\n", "Ann Bob Ann Bob"),
    "Otter": ("Ann Lee  0:02\nIs there tea?\n\nBob  0:05\nYes, there is.\n\nAnn Lee  0:09\nGood.\n\nBob  "
              "0:11\nWhich?\n", "Ann Lee|Bob|Ann Lee|Bob"),
    "Teams": ("Ann Lee   0:02\nIs there tea?\nBob   0:05\nYes, there is.\nAnn Lee   0:09\nGood.\nBob   "
              "0:11\nWhich?\n", "Ann Lee|Bob|Ann Lee|Bob"),
    "Rev": ("Ann Lee (00:02):\nIs there tea?\n\nBob (00:05):\nYes.\n\nAnn Lee (00:09):\nGood.\n\nBob (00:11):\nWhich?\n", "Ann Lee|Bob|Ann Lee|Bob"),
    "time above": ("00:00:02 Ann\nIs there tea?\n\n00:00:05 Bob\nYes.\n\n00:00:09 Ann\nGood.\n\n00:00:11 Bob\nWhich?\n", "Ann Bob Ann Bob"),
    "bold name, time": ("**Ann** 00:02\n\nIs there tea?\n\n**Bob** 00:05\n\nYes.\n\n**Ann** 00:09\n\nGood.\n\n**Bob** 00:11\n\nWhich?\n", "Ann Bob Ann Bob"),
    "one speaker with times": ("Speaker 1  0:02\nTea is good.\n\nSpeaker 1  0:35\nIt is hot.\n\nSpeaker 1  1:09\nIt is green.\n\nSpeaker 1  1:40\nOr black.\n", "Speaker 1|Speaker 1|Speaker 1|Speaker 1"),
    "court": ("Q. Were you there?\n\nA. I was.\n\nQ. When?\n\nA. At nine.\n", "Q A Q A"),
    "court, numbered and indented": ("  1      Q.   Were you there?\n  2      A.   I was.\n  3      Q.   When?\n  4      A.   At nine.\n", "Q A Q A"),
    "hearing": ("THE COURT: Please be seated.\n\nMR. SMITH: Thank you.\n\nTHE WITNESS: I was there.\n\nMR. SMITH: When?\n\nTHE COURT: Overruled.\n", "THE COURT|MR. SMITH|THE WITNESS|MR. SMITH|THE COURT"),
    "numbers": ("Speaker 1: Is there tea?\n\nSpeaker 2: Yes.\n\nSpeaker 1: Good.\n\nSpeaker 2: Which?\n", "Speaker 1|Speaker 2|Speaker 1|Speaker 2"),
    "lower-case labels": ("speaker_0: is there tea?\n\nspeaker_1: yes.\n\nspeaker_0: good.\n\nspeaker_1: which?\n", "speaker_0|speaker_1|speaker_0|speaker_1"),
    "assistant": ("User: How do I make tea?\n\nAssistant: Boil water.\n\nUser: And then?\n\nAssistant: Add the leaves.\n", "User Assistant User Assistant"),
    "German": ("Anna: Gibt es Tee?\n\nBernd von Au: Ja, natürlich.\n\nAnna: Gut.\n\nBernd von Au: Welchen?\n", "Anna|Bernd von Au|Anna|Bernd von Au"),
    "Chinese": ("王芳：有茶吗？\n\n李明：有。\n\n王芳：很好。\n\n李明：绿茶还是红茶？\n", "王芳 李明 王芳 李明"),
    "Arabic": ("ليلى: هل يوجد شاي؟\n\nعمر: نعم.\n\nليلى: جيد.\n\nليلى: شكرا.\n\nعمر: عفوا.\n", "ليلى عمر ليلى ليلى عمر"),
    "three, in any order": ("Ann: Tea is here.\n\nBob: Thanks.\n\nCy: I take milk.\n\nAnn: We have none.\n\nCy: Never mind.\n\nBob: More for us.\n", "Ann Bob Cy Ann Cy Bob"),
    "chevrons": (">> ANN: Is there tea?\n>> BOB: Yes.\n>> ANN: Good.\n>> BOB: Which?\n", "ANN BOB ANN BOB"),
    "Zoom's chat": ("09:14:21 From Ann Lee to Everyone : Is there tea\n09:14:30 From Bob : yes, there is.\n09:15:01 From Ann Lee to Bob : good\n09:15:10 From Bob : which?\n", "Ann Lee|Bob|Ann Lee|Bob"),
    "a turn of several paragraphs": ("Ann: Is there tea?\n\nBob: Yes, there is.\n\nIt is green.\n\nAnn: Good.\n\nBob: Which?\n\nAnn: Fine.\n", "Ann Bob Bob Ann Bob Ann"),
    "one who speaks once": ("Ann: Is there tea?\n\nBob: Yes.\n\nAnn: Good.\n\nMs. May: Me too.\n\nBob: Which?\n", "Ann|Bob|Ann|Ms. May|Bob"),
}  # fmt: skip

# Texts in which nobody speaks.
OTHERS = {
    "prose": "Tea is good. It is hot.\n\nMilk is white: it comes from cows.\n\nWater is clear.\n",
    "notes": "Note: Boil the water.\n\nWarning: It is hot.\n\nNote: Wait.\n\nWarning: Do not drink it yet.\n",
    "admonitions": "Tip: Use fresh water.\n\nTea is good.\n\nTip: Warm the pot.\n\nImportant: Wait.\n\nImportant: Be patient.\n",
    "key and value": "Name: Tea\nColor: green\nPrice: 3\n",
    "records": "Name: Ann\nAge: 3\n\nName: Bob\nAge: 4\n\nName: Cy\nAge: 5\n",
    "records of sentences": "Leaf: It is green.\nCup: It is white.\nPot: It is round.\n\n" * 4,
    "records in two fields": "Leaf: It is green.\nCup: It is white.\n\n" * 5,
    "YAML": "services:\n  web:\n    image: tea\n    ports: 80\nvolumes:\n  data: {}\n",
    "YAML in capitals": "Services:\n  Web: tea\n  Db: milk\nVolumes:\n  Web: one\n  Db: two\n",
    "logs": "INFO: Started the server.\nWARNING: Low memory.\nINFO: Stopped the server.\nERROR: No tea.\nINFO: Done.\nERROR: No milk.\n",
    "logs with times": "12:00:01 INFO: start\n12:00:02 INFO: run\n12:00:03 ERROR: stop\n12:00:04 INFO: end\n",
    "logs of programs": "[12:00:01] Worker: job=1 id=7\n[12:00:02] Cache: miss=2 key=x\n[12:00:03] Worker: job=2 id=8\n[12:00:04] Cache: hit=1 key=y\n",
    "a schedule": "08:30 Breakfast\n09:00 Opening\n10:30 Break\n11:00 Talks\n12:30 Lunch\n",
    "a recipe": "Ingredients: water, leaves\n\nMethod: Boil the water.\n\nServes: 2\n\nIngredients: milk\n\nMethod: Warm the milk.\n",
    "steps": "Step 1: Boil the water.\n\nStep 2: Add the leaves.\n\nStep 1: Wait.\n\nStep 2: Drink.\n",
    "reviews": "Pros: It is hot.\n\nCons: It is green.\n\nPros: It is cold.\n\nCons: It is black.\n",
    "a glossary": "Sencha: A green tea.\n\nAssam: A black tea.\n\nOolong: Between them.\n\nPuer: An old tea.\n",
    "a novel": "\"Is there tea?\" asked Ann.\n\nBob said: \"Yes, there is.\"\n\n\"Good,\" said Ann.\n\nBob said: \"Which?\"\n",
    "who said what": "He said: Is there tea?\n\nShe said: Yes.\n\nHe said: Good.\n\nShe said: Which?\n",
    "an email": "From: Ann\nTo: Bob\nSubject: Tea\nDate: Monday\n\nDear Bob, is there tea?\n\nYours, Ann\n",
    "a thread of emails": "From: Ann\nTo: Bob\nSubject: Tea\n\nIs there tea?\n\nFrom: Bob\nTo: Ann\nSubject: Tea\n\nYes.\n",
    "packages": "Requires-Dist: numpy>=2; extra == 'a'\nProvides-Extra: a\nRequires-Dist: scipy>=1; extra == 'b'\nProvides-Extra: b\n",
    "headers of HTTP": "Host: tea.example\nAccept: text/html\nCookie: a=1\nHost: milk.example\nAccept: text/html\nCookie: b=2\n",
    "links": "https://tea.example/a\nhttps://milk.example/b\nhttps://tea.example/c\n",
    "a list": "- Ann: tea\n- Bob: milk\n- Ann: water\n- Bob: juice\n",
    "figures": "Figure 1: A pot.\n\nTable 1: The sorts.\n\nFigure 2: A cup.\n\nTable 2: The prices.\n",
    "a lettered list": "A. Boil the water.\n\nB. Add the leaves.\n\nC. Wait.\n\nD. Drink.\n",
    "code": "```\nAnn: Is there tea?\nBob: Yes.\nAnn: Good.\nBob: Which?\n```\n",
    "one exchange in prose": "We asked two people.\n\nAnn: Is there tea?\n\nBob: Yes.\n\nSo there is tea. It is hot.\n\nMilk is white.\n\nWater is clear.\n\nCows give milk.\n",
    "times in prose": "We met at 12:30. It rained.\n\nAt 13:00: lunch. It was good.\n\nAt 14:00: tea. It was hot.\n",
    "verses": "John 3:16 is known.\n\nMark 1:15 is short.\n\nJohn 1:1 is first.\n\nMark 2:1 is next.\n",
    "ratios": "Tea 2:10\nMilk 1:20\nJuice 3:30\nWater 4:40\n",
    "JSON": '{"Ann": "tea",\n "Bob": "milk",\n "Ann": "water"}\n',
    "German notes": "Hinweis: Das Wasser ist heiß.\n\nAchtung: Nicht trinken.\n\nHinweis: Warten.\n\nAchtung: Heiß.\n",
    "empty": "",
    "a colon": ":",
}  # fmt: skip

VTT = _text("""
    WEBVTT - Tea
    Kind: captions

    STYLE
    ::cue { color: red }

    NOTE nobody reads this

    intro
    00:01.000 --> 00:02.500 align:start position:0%
    <v Ann Lee>Is there <i>tea</i> &amp; milk?</v>

    00:00:03.000 --> 00:00:04.000
    <v.loud Bob>Yes,

    00:00:04.000 --> 00:00:05.250
    <v Bob>there
    is.</v>
""")
ROLLING = _text("""
    WEBVTT

    00:00:00.000 --> 00:00:02.000 align:start position:0%
    tea<00:00:00.500><c> is</c><00:00:01.000><c> good</c>

    00:00:02.000 --> 00:00:02.010 align:start position:0%
    tea is good

    00:00:02.010 --> 00:00:04.000 align:start position:0%
    tea is good
    it<00:00:02.500><c> is</c><00:00:03.000><c> hot</c>

    00:00:04.000 --> 00:00:04.010 align:start position:0%
    it is hot

    00:00:04.010 --> 00:00:06.000 align:start position:0%
    it is hot
    and<00:00:04.500><c> green</c>
""")
SRT = _text("""
    1
    00:00:01,000 --> 00:00:02,500
    <font color="red">Tea is good.</font>

    2
    00:00:02,600 --> 00:00:04,000
    {\\an8}It is
    hot.

    3
    00:00:09,000 --> 00:00:10,000
    Milk is white.
""")
SLACK = """[
 {"type": "message", "user": "U1", "ts": "1710238533.000100", "thread_ts": "1710238533.000100", "text": "Is there tea, <@U2>?",
  "user_profile": {"real_name": "Ann Lee", "display_name": "ann"}},
 {"type": "message", "subtype": "channel_join", "user": "U3", "ts": "1710238540.000100", "text": "<@U3> has joined the channel"},
 {"type": "message", "user": "U2", "ts": "1710238600.000200", "text": "See <https://tea.example|the list> in <#C1|drinks> &amp; ask <!here>",
  "user_profile": {"real_name": "", "display_name": "bob"}},
 {"type": "message", "user": "U2", "ts": "1710238700.000200", "thread_ts": "1710238533.000100", "text": "Yes."},
 {"type": "message", "user": "U2", "ts": "1710238800.000200", "text": "", "files": [{"title": "tea.png"}]}
]"""
DISCORD = """{"guild": {"id": "1", "name": "Drinks"}, "channel": {"id": "2", "name": "tea"}, "messages": [
 {"id": "10", "type": "Default", "timestamp": "2024-03-12T10:15:33.5+00:00", "content": "Is there tea, <@7>?",
  "author": {"id": "5", "name": "ann", "nickname": "Ann"}, "mentions": [{"id": "7", "name": "bob", "nickname": null}]},
 {"id": "11", "type": "GuildMemberJoin", "timestamp": "2024-03-12T10:16:00+00:00", "content": "Joined the server.", "author": {"id": "9", "name": "cy"}},
 {"id": "12", "type": "Reply", "timestamp": "2024-03-12T10:17:00+00:00", "content": "Yes.", "author": {"id": "7", "name": "bob"},
  "reference": {"messageId": "10"}, "attachments": [{"fileName": "tea.png"}]}]}"""
TEAMS = """{"@odata.count": 3, "value": [
 {"id": "2", "messageType": "message", "createdDateTime": "2024-03-12T10:16:00Z", "from": {"user": {"displayName": "Bob"}},
  "body": {"contentType": "html", "content": "<p>Yes, <b>there&nbsp;is</b>.</p><p>Green.</p>"}},
 {"id": "3", "messageType": "systemEventMessage", "createdDateTime": "2024-03-12T10:17:00Z", "from": null, "body": {"contentType": "text", "content": "Cy joined."}},
 {"id": "1", "messageType": "message", "createdDateTime": "2024-03-12T10:15:00Z", "from": {"user": {"displayName": "Ann Lee"}},
  "body": {"contentType": "text", "content": "Is there tea?"}}]}"""
WHATSAPP = (
    "[12.03.24, 10:15:00] Ann: \u200eMessages are encrypted.\n"
    "\u200e[12.03.24, 10:15:33] Ann Lee: Is there tea?\nOr milk?\n"
    "[12.03.24, 10:16:02] Bob: \u200eimage omitted\n"
    "[12.03.24, 10:17:00] Bob: Yes.\n"
)
