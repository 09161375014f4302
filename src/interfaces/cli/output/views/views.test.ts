import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Terminal } from '../../terminal.ts'
import { usdSaid } from '../amounts.ts'
import { pricingSaid } from '../pricing.ts'
import type { Row } from './view-input.ts'
import { viewOf } from './views.ts'

/** A terminal with readable styles: `<red>`. */
const seen = (interactive: boolean, columns = 80): Terminal => ({
  out: async () => {},
  err: () => {},
  interactive,
  canAsk: false,
  columns,
  env: {},
  style: (style, text) => (style === 'dim' || style === 'green' ? text : `<${style}>${text}</>`),
  query: async () => '',
  onInterrupt: () => () => {},
})
const view = (name: string, json: Row, { interactive = true, input = {}, columns = 80 } = {}): string | null =>
  viewOf(name, { json, input, terminal: seen(interactive, columns) })

test('matches are grouped by file with highlights, and in the format of ripgrep in a pipe', () => {
  const data = [
    { path: 'a.txt', line: 2, text: 'the Orchard', before: ['one'], after: ['three'] },
    { path: 'a.txt', line: 4, text: 'orchards', before: ['three'], after: [] },
    { path: 'a.txt', line: 9, text: 'orchard\u001b[2J', before: [], after: [] },
    { path: 'b/c.txt', line: 1, text: 'orchard', before: [], after: [] },
  ]
  const input = { pattern: 'orch.rd', case: 'insensitive' }
  assert.equal(
    view('drive.grep', { data }, { input }),
    '<magenta>a.txt</>\n1-one\n2:the <red>Orchard</>\n3-three\n4:<red>orchard</>s\n--\n9:<red>orchard</>\n\n<magenta>b/c.txt</>\n1:<red>orchard</>\n',
  )
  assert.equal(
    view('drive.grep', { data: data.slice(0, 1) }, { input, interactive: false }),
    'a.txt-1-one\na.txt:2:the Orchard\na.txt-3-three\n',
  )
  const counted = { data: [{ path: 'a.txt', count: 3 }] }
  assert.equal(view('drive.grep', counted, { input: { ...input, mode: 'count' } }), 'a.txt:3\n')
  assert.equal(view('drive.grep', counted, { input: { ...input, mode: 'files' } }), 'a.txt\n')
  const plain = { data: [{ path: 'a', line: 1, text: 'a(b' }] }
  assert.match(view('drive.grep', plain, { input: { pattern: 'a(b', fixed: true } })!, /<red>a\(b</)
  assert.match(
    view('drive.grep', plain, { input: { pattern: '(?P<x>a)' } })!,
    /1:<red>a<\/>\(b/,
    'syntax that only RE2 has is marked too',
  )
})

test('matches of any pattern are highlighted within a work budget per page', () => {
  const find = (text: string, i: number) => ({ path: 'a', line: i + 1, text })
  const shown = (pattern: string, ...texts: string[]) =>
    view('drive.grep', { data: texts.map(find) }, { input: { pattern } })!
  const hostile = `${'a'.repeat(60)}b`
  // JavaScript's regex engine would take 2^60 steps for each of these.
  for (const pattern of ['(a+)+$|b', '(a|aa)+$|b', '(a*)*c|b', '(?:a|a?)+c|b'])
    assert.match(shown(pattern, hostile), /1:a{60}<red>b<\/>/, pattern)
  const long = 'a'.repeat(10_000)
  const page = shown('a[^x]*x|a', ...Array.from({ length: 100 }, () => long))
  assert.ok(page.includes('<red>a</><red>a</>') && page.includes('a'.repeat(5_000)), 'the rest stays plain')
  assert.doesNotMatch(shown(`(?:a|b){600}|b`, 'ab'), /red/, 'a pattern of many states is not tried')
})

test('a search result shows the matching words on one line in any window width', () => {
  const snippet = `${'filler '.repeat(20)}the orchard\nat harvest time`
  const at = (word: string) => ({
    field: 'snippet',
    start: snippet.indexOf(word),
    end: snippet.indexOf(word) + word.length,
  })
  const data = [
    {
      type: 'file',
      id: 'X',
      title: 'Diary',
      snippet,
      highlights: [at('orchard'), at('harvest'), { field: 'title', start: 0, end: 5 }],
    },
  ]
  const [head, line, end] = view('search.query', { data }, { columns: 60 })!.split('\n')
  assert.equal(head, '<bold>Diary</>  file  X')
  assert.match(line!, /^ {2}….*the <bold>orchard<\/> at <bold>harvest<\/> time$/)
  assert.equal(end, '')
  assert.equal(view('search.query', { data }, { interactive: false }), null, 'a pipe gets the table')
})

test('usage is a small table, and prices are readable', () => {
  const sums = (calls: number, cost_usd: number) => ({
    calls,
    cost_usd,
    usage: { input_tokens: 1_000 * calls, cache_read_tokens: 0, output_tokens: calls, reasoning_tokens: 0 },
  })
  const data = {
    balance_usd: 4.5,
    storage: { count: 12, size_bytes: 3_400_000 },
    calls: { today: sums(1, 0.000_012), this_month: sums(20, 0.25), total: sums(1_200, 12) },
  }
  assert.equal(
    view('me.usage', { data }),
    [
      '            calls  tokens in  tokens out       cost',
      'today           1      1,000           1  $0.000012',
      'this month     20     20,000          20      $0.25',
      'total       1,200  1,200,000       1,200     $12.00',
      '',
      'balance     $4.50',
      'storage     3.4 MB in 12 items',
      '',
    ].join('\n'),
  )
  assert.equal(view('me.usage', { data: [] }), null, 'the list of calls is a table like any other')
  assert.equal(
    pricingSaid({ input: 2.5, output: 10, cache_read: 0.25, reasoning: 10, request: null }),
    '$2.50 in · $10 out · $0.25 cached, per million tokens',
  )
  assert.equal(pricingSaid({ input: 0, output: 0, image: 40_000 }), '$0.04 per image')
  assert.equal(pricingSaid({ input: 0, output: 0 }), '$0 in · $0 out, per million tokens')
  assert.deepEqual([0, 0.000_001_24, 0.05, 3].map(usdSaid), ['$0', '$0.0000012', '$0.05', '$3.00'])
})
