import assert from 'node:assert/strict'
import { test } from 'node:test'
import { charsetOf } from '#infra/text/charset/charset.ts'
import { upload } from '#test/drive/drive.ts'
import { type Person, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

/** Bytes of a text in an encoding, by turning its decoder around. */
function encoded(label: string, text: string): Buffer {
  const wide = Buffer.from(text, 'utf16le')
  if (label.startsWith('utf-16')) return label === 'utf-16le' ? wide : wide.swap16()
  if (label === 'iso-2022-jp') return inJis(text)
  const table = tableOf(label)
  return Buffer.from(
    Array.from(text, (sign) => {
      const bytes = table.get(sign)
      assert.ok(bytes, `${label} has ${sign}`)
      return bytes
    }).flat(),
  )
}

const tables = new Map<string, Map<string, number[]>>()
function tableOf(label: string): Map<string, number[]> {
  const before = tables.get(label)
  if (before !== undefined) return before
  const decoder = new TextDecoder(label)
  const table = new Map<string, number[]>()
  const add = (...bytes: number[]): void => {
    const sign = decoder.decode(Uint8Array.from(bytes))
    if ([...sign].length === 1 && sign !== '\ufffd' && !table.has(sign)) table.set(sign, bytes)
  }
  for (let byte = 0; byte < 256; byte++) add(byte)
  if (/^(gb|big5|shift|euc)/.test(label))
    for (let lead = 0x81; lead < 0xff; lead++) for (let trail = 0x40; trail < 0xff; trail++) add(lead, trail)
  tables.set(label, table)
  return table
}

function inJis(text: string): Buffer {
  const pieces = text.match(/[\x20-\x7e\n]+|[^\x20-\x7e\n]+/g) ?? []
  return Buffer.concat(
    pieces.map((piece) =>
      piece < '\x7f'
        ? Buffer.from(piece)
        : Buffer.concat([
            Buffer.from('\x1b$B'),
            encoded('euc-jp', piece).map((byte) => byte & 0x7f),
            Buffer.from('\x1b(B'),
          ]),
    ),
  )
}

/** Sentences in each encoding of the Encoding Standard. */
const sentences: Record<string, string[]> = {
  'windows-1252': [
    'Düsseldorf, café at the river',
    'Der Bär läuft über die Brücke',
    '“Naïve” – l’été à la plage',
    '¿Dónde está la biblioteca?',
    'Não há pão na mesa de manhã',
    'På gården står en blå bil',
    '100 € für Öl',
    'Preis: 5 €',
    '«oui»',
    '5 µm ± 2 °C',
    '½ cup',
    'El niño comió una manzana',
    'Ça va très bien, merci',
  ],
  'windows-1250': [
    'Příliš žluťoučký kůň úpěl ďábelské ódy',
    'Zażółć gęślą jaźń',
    'Árvíztűrő tükörfúrógép',
    'Škoda',
    'Łódź',
    'Dziękuję za zamówienie',
  ],
  'windows-1251': ['Съешь ещё этих мягких булок', 'Привет, мир', 'Москва и Санкт-Петербург'],
  'windows-1253': ['Ξεσκεπάζω την ψυχοφθόρα βδελυγμία', 'Άνοιξη στην Αθήνα'],
  'windows-1254': ['Pijamalı hasta yağız şoföre çabucak güvendi', 'İstanbul çok güzel bir şehir'],
  'windows-1255': ['דג סקרן שט בים מאוכזב', 'שלום עולם'],
  'windows-1256': ['نص حكيم له سر قاطع', 'مرحبا بالعالم'],
  'windows-1257': [
    'Įlinkdama fechtuotojo špaga sublykčiojusi pragręžė apvalų arbūzą',
    'Glāžšķūņa rūķīši dzērumā čiepj',
  ],
  'windows-1258': ['Tiê\u0301ng Viê\u0323t râ\u0301t đe\u0323p'],
  'windows-874': ['สวัสดีชาวโลก', 'กรุงเทพมหานครเป็นเมืองหลวง'],
  'iso-8859-2': ['Příliš žluťoučký kůň úpěl ďábelské ódy', 'Święta są w grudniu'],
  'iso-8859-3': ['Laŭ Ludoviko Zamenhof bongustas freŝa ĉeĥa manĝaĵo', 'Ħobż biż-żejt, ġobna u ċikkulata'],
  'iso-8859-4': ['Glāžšķūņa rūķīši dzērumā čiepj'],
  'iso-8859-5': ['Съешь ещё этих мягких французских булок', 'Привет, мир'],
  'iso-8859-6': ['نص حكيم له سر قاطع', 'مرحبا بالعالم'],
  'iso-8859-7': ['Ξεσκεπάζω την ψυχοφθόρα βδελυγμία', 'Άνοιξη στην Αθήνα'],
  'iso-8859-8': ['דג סקרן שט בים מאוכזב'],
  'iso-8859-10': ['Čáhppes beaivi lea šaddan, muhto giđđa boahtá'],
  'iso-8859-13': ['„Glāžšķūņa“ rūķīši dzērumā čiepj'],
  'iso-8859-14': ['Ḋúiseaċt na maidne: ḃí an ġrian ag taitneaṁ'],
  'iso-8859-15': ["Le prix est de 20 € à l'œuvre"],
  'iso-8859-16': ['Țara și școala sunt în București'],
  'koi8-r': ['Съешь ещё этих мягких французских булок', 'Москва'],
  'koi8-u': ['Жебракують філософи при ґанку церкви'],
  ibm866: ['Съешь ещё этих мягких французских булок', 'Привет, мир'],
  macintosh: ['Der Bär läuft über die Brücke', 'L’été à la plage, naïve “œuvre”'],
  'x-mac-cyrillic': ['Съешь ещё этих мягких французских булок'],
  gb18030: ['会议资料', '你好，世界', '品名,数量,备注\n苹果,12,新到', '我们明天上午九点开会。'],
  gbk: ['请查收附件中的报价单'],
  big5: ['會議資料', '你好，世界', '品名,數量,備註\n蘋果,12,新到', '我們明天上午九點開會。'],
  shift_jis: ['会議資料', 'こんにちは、世界', '品名,数量,備考\nりんご', 'カタカナ テスト', '品名,数量', '請求書'],
  'euc-jp': ['会議資料', 'こんにちは、世界', '明日の午前九時に会議があります。'],
  'iso-2022-jp': ['明日の午前九時に会議があります。', 'Re: 会議 No. 2'],
  'euc-kr': ['안녕하세요 세계', '품명,수량,비고', '내일 오전 아홉 시에 회의가 있습니다.'],
  'utf-16le': ['item,pieces\r\nApple,12', '会议资料\n', 'Привет, мир', 'Цена'],
  'utf-16be': ['item,pieces\r\nApple,12', '会议资料\n', 'Привет, мир'],
}

test('the encoding of each sentence is detected, for the encodings of the Encoding Standard', () => {
  for (const [label, list] of Object.entries(sentences))
    for (const sentence of list) {
      const bytes = encoded(label, sentence)
      const charset = charsetOf(bytes)
      assert.equal(charset && new TextDecoder(charset).decode(bytes), sentence, `${label}: ${charset}`)
    }
  for (const binary of [
    'hello\0world!',
    '\x01\x02\0\x03',
    '%PDF-1.7\n\0\x01\x02',
    '\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\x03\0>\0',
  ])
    assert.equal(charsetOf(Buffer.from(binary, 'latin1')), null, JSON.stringify(binary))
})

const put = async (who: Person, name: string, bytes: Buffer): Promise<string> =>
  (await upload(who, { workspace_id: who.workspaceId }, bytes, name)).body.data.id

test('text in any encoding is read, grepped, searched and downloaded correctly', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_WRITES: '0', UK_LIMIT_READS: '0' } })
  const alice = await server.person('Alice')
  const files: { id: string; label: string; bytes: Buffer; sentence: string }[] = []
  for (const [label, [sentence]] of Object.entries(sentences)) {
    const bytes = encoded(label, sentence!)
    files.push({ id: await put(alice, `${label}.csv`, bytes), label, bytes, sentence: sentence! })
  }
  const check = async (): Promise<void> => {
    for (const { id, label, bytes, sentence } of files) {
      const { body, text } = await alice.get(`/drive/files/${id}/content`)
      assert.equal(
        body.data?.lines.map((line: { text: string }) => line.text).join('\n'),
        sentence.trim().replaceAll('\r', ''),
        `${label}: ${text}`,
      )
      const file = await alice.get(`/drive/files/${id}`)
      const [, charset] = /; charset=(.+)$/.exec(file.headers.get('content-type') ?? '') ?? []
      assert.equal(charset, body.data.encoding, label)
      assert.equal(new TextDecoder(charset).decode(bytes), sentence, label)
    }
  }
  await check()
  const { sentence, id } = files.at(-4)!
  await until(
    async () =>
      (await alice.get(`/search?${new URLSearchParams({ q: sentence, mode: 'keyword' }).toString()}`)).body.data,
    (hits) => hits.some((hit: { id: string }) => hit.id === id),
  )
  for (const file of files) {
    const pattern = file.sentence.split(/[\r\n]/)[0]!
    const query = new URLSearchParams({ pattern, mode: 'files' })
    const { body, text } = await alice.get(`/drive/grep?${query.toString()}`)
    assert.ok(
      body.data.some((one: { file_id: string }) => one.file_id === file.id),
      `${file.label}: ${text}`,
    )
  }
  // Once they are indexed as well.
  await check()
})
