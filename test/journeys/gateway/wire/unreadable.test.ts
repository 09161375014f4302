// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { type World, gatewayWorld } from '../world.ts'
import { answers } from './answers.ts'
import {
  type Script,
  type ScriptedVendor,
  type WireName,
  allWires,
  bringWires,
  modelOf,
  startScripted,
  whole,
} from './scripted.ts'
import { call, surfaces } from './surfaces.ts'

let world: World
let vendor: ScriptedVendor

before(async () => {
  vendor = await startScripted()
  world = await gatewayWorld({ UK_LIMIT_INFERENCE: '0' })
  await bringWires(world, vendor)
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
})

const as = (type: string): Record<string, string> => ({ 'content-type': type })
const page = '<!doctype html><html><body>Sign in to the Wi-Fi</body></html>'
const text = JSON.stringify(answers.chat({ text: 'Hi' }).whole)

/** Ways in which an answer can be unreadable, and the error for each. */
const ways: Record<string, { script: Script; said: RegExp; streams?: RegExp }> = {
  gzip: {
    script: whole(gzipSync(text), 200, { 'content-encoding': 'gzip' }),
    said: /`content-encoding: gzip`.*wasn’t requested/,
  },
  br: { script: whole(brotliCompressSync(text), 200, { 'content-encoding': 'br' }), said: /`content-encoding: br`/ },
  zstd: {
    script: whole(zstdCompressSync(text), 200, { 'content-encoding': 'zstd' }),
    said: /`content-encoding: zstd`/,
  },
  deflate: {
    script: whole(deflateSync(text), 200, { 'content-encoding': 'deflate' }),
    said: /`content-encoding: deflate`/,
  },
  'a refusal in gzip': {
    script: whole(gzipSync('{"error":{"message":"no"}}'), 400, { 'content-encoding': 'gzip' }),
    said: /`content-encoding: gzip`/,
  },
  'gzip that nobody told of': { script: whole(gzipSync(text)), said: /gzip bytes without a `content-encoding` header/ },
  'a page': { script: whole(page, 200, as('text/html')), said: /an HTML page instead of/ },
  'a page of a proxy that failed': {
    script: whole(page, 502, as('text/html')),
    said: /returned status 502 with an HTML page/,
  },
  'nothing at all': { script: whole(''), said: /an empty body/ },
  'a status without a body': {
    script: (response) => void response.writeHead(204).end(),
    said: /returned status 204 without a body/,
  },
  'a redirect': {
    script: (response) => void response.writeHead(308, { location: 'https://elsewhere.example/' }).end(),
    said: /a redirect \(308\).*`base_url`/,
  },
  'half of its JSON': {
    script: whole(text.slice(0, 60)),
    said: /incomplete or invalid JSON \(60 bytes\)/,
  },
  'other JSON': { script: whole({ hello: 1 }), said: /It has the fields `hello`\./ },
  'JSON that isn’t an object': { script: whole('"ok"'), said: /JSON that isn’t an object/ },
  'UTF-16, as it says': {
    script: whole(Buffer.from(text, 'utf16le'), 200, as('application/json; charset=utf-16')),
    said: /the charset `utf-16`/,
  },
  'UTF-16, as it does not say': {
    script: whole(Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from(text, 'utf16le')])),
    said: /the charset `UTF-16`/,
  },
  'plain text': {
    script: whole('upstream busy, key sk-abcdefgh1234', 200, as('text/plain')),
    said: /plain text instead of .*: upstream busy, key \[key\]/,
  },
  'a refusal in plain text': {
    script: whole('no healthy upstream', 503, as('text/plain')),
    said: /no healthy upstream/,
  },
  'fewer bytes than it promised': {
    script: (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' })
      response.write(text, () => response.destroy())
    },
    said: /closed the connection before its response was complete/,
  },
}

for (const wire of allWires)
  test(`${wire.name}: an unreadable answer is an error that says what is wrong with it`, async () => {
    for (const [way, { script, said }] of Object.entries(ways)) {
      vendor.script = script
      await Promise.all(
        surfaces.flatMap((surface) =>
          [true, false].map(async (stream) => {
            const at = `${surface.name}, ${stream ? 'streamed' : 'whole'}, ${way}`
            const turn = await call(world.key, surface, surface.ask(modelOf(wire), 'Hello'), stream)
            assert.ok(turn.status >= 400, `${at}: ${turn.text}`)
            const { message } = JSON.parse(turn.text).error
            assert.match(message, said, at)
            assert.doesNotMatch(turn.text, /sk-abcdefgh|Wi-Fi/, at)
          }),
        ),
      )
    }
  })

test('an answer labeled identity, or with a charset whose bytes are UTF-8, is read', async () => {
  for (const wire of allWires) {
    const answer = answers[wire.name as WireName]({ text: 'Hi' })
    for (const headers of [
      { 'content-encoding': 'identity' },
      { 'content-encoding': 'UTF-8' },
      as('application/json; charset=ISO-8859-1'),
    ] as Record<string, string>[]) {
      vendor.script = whole(answer.whole, 200, headers)
      for (const surface of surfaces) {
        const turn = await call(world.key, surface, surface.ask(modelOf(wire), 'Hello'), false)
        assert.equal(turn.words, 'Hi', `${wire.name}, ${surface.name}: ${turn.text}`)
      }
    }
  }
})

test('streams with line ends CR, CRLF, or LF read the same over every path, cut at every byte', async () => {
  for (const wire of allWires.filter(({ name }) => name !== 'converse')) {
    const { events } = answers[wire.name as WireName]({
      text: 'Grüße 👋',
      calls: [{ id: 'toolu_one', name: 'get_time', arguments: '{"zone":"UTC"}' }],
    })
    const bytes = wire.stream(events)
    for (const end of ['\r', '\r\n', '\n'])
      for (const size of [1, 7, bytes.length]) {
        const variant = Buffer.from(`\uFEFF: hi\n\n${bytes.toString()}`.replaceAll('\n', end))
        vendor.script = (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          for (let at = 0; at < variant.length; at += size) response.write(variant.subarray(at, at + size))
          response.end()
        }
        await Promise.all(
          surfaces.map(async (surface) => {
            const at = `${wire.name}, ${surface.name}, ${JSON.stringify(end)}, ${size}`
            const turn = await call(world.key, surface, surface.ask(modelOf(wire), 'Hello'), true)
            assert.equal(turn.words, 'Grüße 👋', `${at}: ${turn.text}`)
            assert.deepEqual(
              turn.calls.map(({ name, arguments: words }) => [name, JSON.parse(words)]),
              [['get_time', { zone: 'UTC' }]],
              at,
            )
            const record = await world.record(turn.headers.get('x-request-id')!)
            assert.deepEqual(
              [record.cost_source, Number(record.input_tokens), Number(record.output_tokens)],
              ['computed', 10, 5],
              at,
            )
          }),
        )
      }
  }
})
