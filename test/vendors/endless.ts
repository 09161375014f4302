import type { Socket } from 'node:net'
import { type Raw, type RawAsked, startRaw } from './raw.ts'

const EVERY_MS = 20
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`

/** The beginning of an answer, what repeats after it, and whether that comes slowly or as fast as it is read. */
const kinds: Record<string, { begin: string; again: string; fast?: true }> = {
  'says nothing': { begin: '', again: '' },
  'a head byte by byte': { begin: `${HEAD}x: `, again: 'y' },
  'fields without end': { begin: HEAD, again: 'x: y\r\n'.repeat(1_000), fast: true },
  'one field without end': { begin: `${HEAD}x: `, again: 'y'.repeat(1_000), fast: true },
  'hints for ever': { begin: '', again: 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n' },
  'many hints at once': { begin: '', again: 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100), fast: true },
  'a body byte by byte': { begin: CHUNKED, again: '1\r\n \r\n' },
  'a body of a length byte by byte': { begin: `${HEAD}content-length: 1000000\r\n\r\n`, again: ' ' },
  'a body to the end byte by byte': { begin: `${HEAD}\r\n`, again: ' ' },
  'a body without end': { begin: CHUNKED, again: `4000\r\n${' '.repeat(0x4000)}\r\n`, fast: true },
  'a chunk line byte by byte': { begin: `${CHUNKED}1;`, again: 'x' },
  'a chunk line without end': { begin: `${CHUNKED}1;`, again: 'x'.repeat(1_000), fast: true },
  'extensions without end': { begin: CHUNKED, again: `1;${'x'.repeat(4_000)}\r\n \r\n`, fast: true },
  'trailers bit by bit': { begin: `${CHUNKED}0\r\n`, again: 'x: y\r\n' },
  'trailers without end': { begin: `${CHUNKED}0\r\n`, again: 'x: y\r\n'.repeat(1_000), fast: true },
  'an error byte by byte': {
    begin: 'HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n',
    again: '1\r\nx\r\n',
  },
  'an error without end': {
    begin: 'HTTP/1.1 400 No\r\ntransfer-encoding: chunked\r\n\r\n',
    again: `4000\r\n${'x'.repeat(0x4000)}\r\n`,
    fast: true,
  },
  'a stream that is only kept alive': {
    begin: 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n',
    again: ': still here\n\n',
  },
  'one event without end': {
    begin: 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {"a":"',
    again: 'x'.repeat(10_000),
    fast: true,
  },
  'events without end': {
    begin: 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n',
    again: 'data: {"choices":[]}\n\n'.repeat(100),
    fast: true,
  },
}

export const endlessKinds: readonly string[] = Object.keys(kinds)

/** The first segment of the path that selects a kind. */
export const pathOf = (kind: string): string => `/${kind.replaceAll(' ', '-')}`

/** A server whose answers never end. There is no robots.txt, so that a page is fetched. */
export async function startEndless(kindOf: (request: RawAsked) => string = kindIn): Promise<Raw & { open(): number }> {
  const busy = new Set<Socket>()
  const raw = await startRaw((request, socket) => {
    if (request.path === '/robots.txt') return void socket.write('HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n')
    const { begin, again, fast } = kinds[kindOf(request)]!
    busy.add(socket)
    socket.write(begin)
    const more = (): void => {
      while (!socket.destroyed && socket.write(again));
    }
    const timer = fast || again === '' ? undefined : setInterval(() => socket.write(again), EVERY_MS)
    socket.on('close', () => {
      clearInterval(timer)
      busy.delete(socket)
    })
    if (fast) socket.on('drain', more)
    if (fast) more()
  })
  return Object.assign(raw, { open: () => busy.size })
}

const kindIn = ({ path }: RawAsked): string => endlessKinds.find((kind) => path.startsWith(`${pathOf(kind)}/`))!
