/** An OpenAI-shaped upstream that costs next to nothing: it answers each whole request with the same bytes. */
import { type Socket, createServer } from 'node:net'

const body = JSON.stringify({
  id: 'chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012',
  object: 'chat.completion',
  created: 1_790_000_000,
  model: 'gpt-4o-mini-2024-07-18',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'Clouds drift over hills, / a river keeps its own time, / the bridge remembers.',
        refusal: null,
        annotations: [],
      },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: 19,
    completion_tokens: 21,
    total_tokens: 40,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  },
  service_tier: 'default',
  system_fingerprint: 'fp_0123456789',
})
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
)

const event = (text: string): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'gpt-4o-mini', choices: [{ index: 0, delta: { content: text }, finish_reason: null }] })}\n\n`
const ending = `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'gpt-4o-mini', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'gpt-4o-mini', choices: [], usage: { prompt_tokens: 19, completion_tokens: 50, total_tokens: 69 } })}\n\ndata: [DONE]\n\n`
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const word = chunk(event(' cloud'))

const TICK_MS = 20
/** A stream of `events` words, one each `pace` ms (0: at once), all streams in step so that timers cost nothing. */
const streams = new Map<Socket, { left: number; every: number }>()
function stream(socket: Socket, events: number, pace: number): void {
  socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n')
  socket.write(word)
  if (pace === 0) socket.write(`${word.repeat(events - 1)}${chunk(ending)}0\r\n\r\n`)
  else streams.set(socket, { left: events - 1, every: Math.ceil(pace / TICK_MS) })
}
let tick = 0
setInterval(() => {
  tick += 1
  for (const [socket, one] of streams) {
    if (tick % one.every > 0) continue
    if (one.left-- > 0) socket.write(word)
    else {
      streams.delete(socket)
      socket.write(`${chunk(ending)}0\r\n\r\n`)
    }
  }
}, TICK_MS)

const server = createServer((socket) => {
  socket.setNoDelay()
  let asked = ''
  const reply = (): void => {
    // Fields of the request, or words of its message where no field gets this far.
    const events = /\bevents\W{1,2}(\d+)/.exec(asked)
    if (events === null) return void socket.write(answer)
    stream(socket, Number(events[1]), Number(/\bpace\W{1,2}(\d+)/.exec(asked)?.[1] ?? 0))
  }
  socket.on('close', () => streams.delete(socket))
  let left = 0
  let held = ''
  socket.on('error', () => {})
  socket.on('data', (part) => {
    if (left > 0) {
      left -= part.length
      asked += part.toString('latin1')
      if (left <= 0) reply()
      return
    }
    const text = held + part.toString('latin1')
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) {
      held = text
      return
    }
    held = ''
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1] ?? 0)
    left = end + 4 + length - text.length
    asked = text.slice(end + 4)
    if (left <= 0) reply()
  })
})
server.listen(0, '127.0.0.1', 4096, () =>
  process.stdout.write(`ready ${(server.address() as { port: number }).port}\n`),
)
