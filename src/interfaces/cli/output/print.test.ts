import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { things } from '#test/every-kind.ts'
import type { Incoming } from '../../client.ts'
import { Stop, exits } from '../exit.ts'
import type { Globals } from '../globals.ts'
import { decider } from './decide.ts'
import { print } from './print.ts'
import type { Terminal } from '../terminal.ts'

const answer = (body: string | object, { status = 200, type = 'application/json' } = {}): Incoming => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return {
    status,
    header: (name) => (name === 'content-type' ? type : null),
    text: async () => text,
    async *bytes() {
      // Split anywhere, as a network does.
      for (const byte of Buffer.from(text)) yield Uint8Array.of(byte)
    },
  }
}

interface Said {
  code: number
  out: string
  err: string
}

async function printed(
  verb: keyof typeof things.endpoints,
  response: Incoming,
  {
    globals = {},
    next = [],
    terminal = {},
  }: { globals?: Globals; next?: Incoming[]; terminal?: Partial<Terminal> } = {},
): Promise<Said> {
  const parts: Buffer[] = []
  let err = ''
  const asked = [...next]
  const seen: Terminal = {
    out: async (part) => void parts.push(Buffer.from(part)),
    err: (text) => void (err += `${text}\n`),
    interactive: false,
    canAsk: false,
    columns: 80,
    env: {},
    style: (_, text) => text,
    query: async () => '',
    onInterrupt: () => () => {},
    ...terminal,
  }
  const code = await print({
    listed: { name: `things.${verb}`, verb, area: things, endpoint: things.endpoints[verb] },
    response,
    next: async () => asked.shift()!,
    open: async () => asked.shift()!,
    globals,
    terminal: seen,
    decide: decider(async () => assert.fail('nothing is decided'), globals, seen),
  })
  return { code, out: Buffer.concat(parts).toString(), err }
}

const page = (names: string[], next: string | null) =>
  answer({
    data: names.map((name) => ({ id: name, name })),
    pagination: { has_more: next !== null, next_cursor: next },
  })

const thingNames = 'id\tname\tnote\tsize\tcreated_at\tupdated_at\tworkspace_id\tcreated_by\n'
const thingColumns = thingNames.split('\t').length

test('a page names the next cursor, and --all fetches every page', async () => {
  const one = await printed('list', page(['a', 'b'], 'c1'))
  assert.equal(one.out, `${thingNames}a\ta${'\t'.repeat(thingColumns - 2)}\nb\tb${'\t'.repeat(thingColumns - 2)}\n`)
  assert.match(one.err, /--cursor c1/)
  const all = await printed('list', page(['a'], 'c1'), {
    globals: { all: true, json: true },
    next: [page(['b'], 'c2'), page(['c'], null)],
  })
  assert.deepEqual(
    all.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id),
    ['a', 'b', 'c'],
  )
  const none = await printed('list', page([], null))
  assert.deepEqual(none, { code: 0, out: thingNames, err: '' }, 'an empty list has the same columns')
})

test('an object prints one field per line, with nested fields by path', async () => {
  const data = { id: 'X', usage: { input_tokens: 3 }, tags: ['a', 'b'], note: null, at: '2026-11-21T09:30:00.000Z' }
  const lines = 'id                  X\nusage.input_tokens  3\ntags                a, b\nat                  '
  const { out } = await printed('get', answer({ data }), { terminal: { interactive: true } })
  assert.equal(out, `${lines}2026-11-21 09:30Z\n`)
  const piped = await printed('get', answer({ data }))
  assert.equal(
    piped.out,
    `${lines.replace('at  ', 'note\nat  ')}2026-11-21T09:30:00.000Z\n`,
    'a pipe gets times whole, and what is empty',
  )
})

test('a nested list is a table in a terminal and complete JSON in a pipe', async () => {
  const data = { id: 'X', by_model: [{ model: 'sim/echo', calls: 3, usage: { input_tokens: 9 } }], tags: [] }
  const { out } = await printed('get', answer({ data }), { terminal: { interactive: true } })
  assert.equal(
    out,
    'id  X\nby_model\n  model     calls  usage.input tokens\n  sim/echo  3      9\n',
    'what is empty is not shown to a person',
  )
  const piped = await printed('get', answer({ data }))
  assert.match(piped.out, /^by_model  \[\{"model":"sim\/echo","calls":3,"usage":\{"input_tokens":9\}\}\]$/m)
})

test('model text prints as it arrives, and its result sets the exit code', async () => {
  const events = (last: string) =>
    answer(
      `:\n\nevent: run.started\ndata: {}\n\nid: 1\nevent: text.delta\ndata: {"delta":"Grüße, "}\n\nevent: reasoning.delta\ndata: {"delta":"hm"}\n\nevent: text.delta\ndata: {"delta":"世界\\u001b[2J"}\n\n${last}`,
      { type: 'text/event-stream' },
    )
  const end = 'event: run.completed\ndata: {}\n\n'
  const done = await printed('watch', events(end), { terminal: { interactive: true } })
  assert.deepEqual(done, { code: 0, out: 'Grüße, 世界\n', err: '' })
  const piped = await printed('watch', events(end))
  assert.equal(piped.out, 'Grüße, 世界\u001b[2J\n', 'a pipe gets every byte')
  const failed = await printed('watch', events('event: run.failed\ndata: {"error":{"message":"no luck"}}\n\n'))
  assert.equal(failed.code, exits.failure[0])
  assert.match(failed.err, /no luck/)
  const json = await printed('watch', events(''), { globals: { json: true } })
  assert.deepEqual(JSON.parse(json.out.split('\n')[1]!), { id: '1', event: 'text.delta', data: { delta: 'Grüße, ' } })
  const other = await printed('watch', answer('event: change\ndata: {"channel":"user:1"}\n\n'))
  assert.equal(other.out, 'change\t{"channel":"user:1"}\n')
})

test('a tool call prints on its own line with the raw arguments', async () => {
  const call = { id: 'c', name: 'weather', arguments: '{"city":"Oslo"}' }
  const whole = { text: '', finish_reason: 'tool_calls', tool_calls: [call] }
  assert.equal((await printed('get', answer({ data: whole }))).out, '→ weather {"city":"Oslo"}\n')
  const events = `event: text.delta\ndata: {"delta":"Well"}\n\nevent: tool_call.completed\ndata: ${JSON.stringify(call)}\n\n`
  const streamed = await printed('watch', answer(events))
  assert.deepEqual(streamed, { code: 0, out: 'Well\n', err: '→ weather {"city":"Oslo"}\n' })
})

test('a run that waits for approval prints how to decide', async () => {
  const run = { id: 'R', chat_id: 'C', pending_actions: [{ id: "a'; x", tool: 'drive.trash', arguments: { id: 'F' } }] }
  const events = `event: run.requires_action\ndata: ${JSON.stringify({ run })}\n\n`
  const { code, out, err } = await printed('watch', answer(events))
  assert.deepEqual([code, out], [exits.undecided[0], ''])
  assert.match(err, /drive\.trash \{"id":"F"\}/)
  assert.match(err, /uk chats actions C R --actions '\[\{"id":"a'\\''; x","decision":"allow"\}\]'\n/)
})

test('a canceled run and a failed check are reported', async () => {
  const cancelled = await printed('watch', answer('event: run.cancelled\ndata: {}\n\n'))
  assert.deepEqual(cancelled, { code: exits.failure[0], out: '', err: 'uk: The run was canceled.\n' })
  const sent = { text: 'so f', finish_reason: null, run: { status: 'cancelled' } }
  assert.match((await printed('get', answer({ data: sent }))).err, /The run was canceled/)
  assert.equal((await printed('get', answer({ data: { ok: false, error: 'no' } }))).code, exits.failure[0])
})

test('binary files go to a file or a pipe, never to a terminal', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'uk-print-'))
  try {
    const output = join(folder, 'out.bin')
    const written = await printed('content', answer('\u0000\u0001bytes', { type: 'application/octet-stream' }), {
      globals: { output },
    })
    assert.match(written.err, /^Saved .* \(7 bytes\)/)
    assert.equal(await readFile(output, 'utf8'), '\u0000\u0001bytes')
  } finally {
    await rm(folder, { recursive: true })
  }
  const piped = await printed('content', answer('\u0000\u0001', { type: 'image/png' }))
  const asked = { globals: { output: '-' }, terminal: { interactive: true } }
  assert.equal((await printed('content', answer('\u0000\u0001', { type: 'image/png' }), asked)).out, '\u0000\u0001')
  assert.equal(piped.out, '\u0000\u0001')
  await assert.rejects(
    printed('content', answer('x', { type: 'image/png' }), { terminal: { interactive: true } }),
    (error) => error instanceof Stop && error.exit === 'usage',
  )
})

test('background work prints how to follow it; with --wait, its failure sets the exit code', async () => {
  const operation = (status: string) => answer({ data: { id: 'OP', status, error: null } }, { status: 202 })
  assert.match((await printed('work', operation('queued'))).err, /uk operations get OP/)
  const ran = await printed('create', answer({ data: { id: 'RUN', status: 'queued' } }, { status: 202 }))
  assert.equal(ran.err, '', 'what is not an operation is not followed as one')
  assert.equal((await printed('work', operation('failed'), { globals: { wait: true } })).code, exits.failure[0])
  assert.equal((await printed('work', operation('succeeded'), { globals: { wait: true } })).code, 0)
})

test('a deletion prints the ID, and an empty response prints nothing', async () => {
  assert.equal((await printed('trash', answer({ deleted: true, id: 'X' }))).out, 'X\n')
  assert.equal((await printed('forget', answer('', { status: 204 }))).out, '')
})

test('output of -q and --jq is cleaned for a terminal and unchanged in a pipe', async () => {
  const text = 'a\x1b]0;other title\x07\x9b2Jb\x1b[31m'
  for (const globals of [{ query: 'text' }, { jq: '.data.text' }]) {
    const screen = await printed('get', answer({ data: { text } }), { globals, terminal: { interactive: true } })
    assert.doesNotMatch(screen.out, /[^\P{Cc}\n]/u)
    assert.equal((await printed('get', answer({ data: { text } }), { globals })).out, `${text}\n`)
  }
})
