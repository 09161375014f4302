import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import type { ScanTask } from './scan.ts'
import { createScanner } from './scanner.ts'

/** Text with hundreds of partial matches of the pattern below, each with different states. */
function hostileText(bytes: number): Buffer {
  const text = Buffer.alloc(bytes)
  for (let i = 0, seed = 1; i < bytes; i++) {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fff_ffff
    text[i] = (seed >> 16) & 1 ? 97 : 98
  }
  return text
}
const HOSTILE = '(?:a|b)*a(?:a|b){990}c'
const ENDLESS = { steps: Number.POSITIVE_INFINITY, cpuMs: Number.POSITIVE_INFINITY }

interface Content {
  sha256: string
  bytes: Buffer
}
const small = (name: string): Content => ({ sha256: name, bytes: Buffer.from('one line with tea\n') })
const taskOf = (pattern: string, files: readonly Content[]): ScanTask => ({
  spec: { pattern, case: 'sensitive', multiline: false, fixed: false },
  files: files.map(({ sha256, bytes }, index) => ({ index, source: { bytes }, plain: true, sha256 })),
  want: 'count',
  before: 0,
  after: 0,
  mostLines: 10,
  countAll: false,
})
const load = (pattern: string, ...files: Content[]) => {
  return () => Promise.resolve(taskOf(pattern, files))
}

test('one account’s endless searches don’t block another account, and a leaving caller frees its thread', async () => {
  await using scanner = createScanner({ ...ENDLESS, atOnce: 3, each: 2 })
  const text = hostileText(4 << 20)
  const leaving = new AbortController()
  const ends: string[] = []
  // Run by the automaton, by re2js per line, and by re2js across lines.
  const hostile = [HOSTILE, `(?i)${HOSTILE}`, `(?i)${HOSTILE}`].map((pattern, i) =>
    scanner
      .scan(
        'mallory',
        async () => {
          const task = taskOf(pattern, [{ sha256: `${i}`, bytes: text }])
          return { ...task, spec: { ...task.spec, multiline: i === 2 } }
        },
        leaving.signal,
      )
      .then(
        () => ends.push('answered'),
        (error: Error) => ends.push(error.message),
      ),
  )
  for (const who of ['bob', 'carol', 'bob']) {
    const [result] = await scanner.scan(who, load('t[e]a', small(who)))
    assert.deepEqual([result!.count, result!.skipped], [1, null])
  }
  assert.deepEqual(ends, [])
  leaving.abort(new Error('left'))
  await Promise.all(hostile)
  assert.deepEqual(ends, ['left', 'left', 'left'])
  // Both of her turns are free again: these two tasks wait for each other.
  const both = Promise.withResolvers<void>()
  let startCount = 0
  const meet = async (): Promise<ScanTask> => {
    if (++startCount === 2) both.resolve()
    await both.promise
    return taskOf('tea', [small('x')])
  }
  const answers = await Promise.all([scanner.scan('mallory', meet), scanner.scan('mallory', meet)])
  assert.deepEqual(
    answers.map(([one]) => one!.count),
    [1, 1],
  )
})

test('a long task yields after each slice, so another account waits for one slice', async () => {
  await using scanner = createScanner({ atOnce: 1, each: 1, sliceMs: -1 })
  const order: string[] = []
  const many = Array.from({ length: 6 }, (_, i) => small(`${i}`))
  await Promise.all([
    scanner.scan('alice', load('tea', ...many)).then((results) => order.push(`alice ${results.length}`)),
    scanner.scan('bob', load('tea', small('x'))).then(() => order.push('bob')),
  ])
  assert.deepEqual(order, ['bob', 'alice 6'])
})

test('a file that is too expensive for a pattern is skipped and not tried again with it', async () => {
  await using scanner = createScanner({ steps: 200_000 })
  const slow = { sha256: 'slow', bytes: hostileText(100_000) }
  const search = async (pattern: string, ...files: Content[]) =>
    (await scanner.scan('alice', load(pattern, ...files)))
      .toSorted((a, b) => a.index - b.index)
      .map(({ skipped, count }) => skipped ?? count)
  assert.deepEqual(await search(HOSTILE, small('a'), slow, small('b')), [0, 'too_slow', 0])
  const benign = { sha256: 'slow', bytes: Buffer.from('short\n') }
  assert.deepEqual(await search(HOSTILE, small('a'), benign), [0, 'too_slow'], 'it is known by its digest')
  assert.deepEqual(await search('short', benign), [1], 'other patterns are tried')
  assert.deepEqual(await search(HOSTILE, { ...benign, sha256: 'other' }), [0], 'and other contents')
})

test('on Linux a search has a lower priority than the server', { skip: process.platform !== 'linux' }, async () => {
  const counts = (): Record<number, number> => {
    const count: Record<number, number> = {}
    for (const task of readdirSync('/proc/self/task')) {
      // After the name in parentheses; the priority is field 19 (proc(5)).
      const fields = readFileSync(`/proc/self/task/${task}/stat`, 'utf8').split(') ')[1]!.split(' ')
      const nice = Number(fields[16])
      count[nice] = (count[nice] ?? 0) + 1
    }
    return count
  }
  const own = getPriority()
  const before = counts()
  await using scanner = createScanner({ atOnce: 1, each: 1 })
  await scanner.scan('alice', load('tea', small('x')))
  const after = counts()
  assert.equal(getPriority(), own)
  assert.equal((after[Math.min(19, own + 5)] ?? 0) - (before[Math.min(19, own + 5)] ?? 0), 1)
})

test('lines are matched until the work is used up, and invalid patterns are refused', async () => {
  await using scanner = createScanner({ steps: 2_000 })
  assert.deepEqual(await scanner.hits('alice', { line: 't.a', case: 'sensitive' }, ['tea', 'milk']), [true, false])
  const lines = Array.from({ length: 10 }, () => 'b'.repeat(1_000))
  const hits = await scanner.hits('alice', { line: 'b+[^b]', case: 'sensitive' }, lines)
  assert.ok(hits.length < lines.length && hits.length > 0, `${hits.length} of ${lines.length}`)
  await assert.rejects(scanner.hits('alice', { line: '(', case: 'sensitive' }, []), { name: 'InvalidPattern' })
  const spec = { pattern: '(?=a)', case: 'sensitive', multiline: false, fixed: false } as const
  await assert.rejects(scanner.prepare('alice', spec), { name: 'InvalidPattern' })
  assert.deepEqual(await scanner.prepare('alice', { ...spec, pattern: '.' }), null)
})
