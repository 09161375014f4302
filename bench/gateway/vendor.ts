/** An OpenAI-shaped upstream that costs next to nothing: it answers each whole request with the same bytes. */
import { createServer } from 'node:net'

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

const server = createServer((socket) => {
  socket.setNoDelay()
  let left = 0
  let held = ''
  socket.on('error', () => {})
  socket.on('data', (part) => {
    if (left > 0) {
      left -= part.length
      if (left <= 0) socket.write(answer)
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
    if (left <= 0) socket.write(answer)
  })
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`ready ${(server.address() as { port: number }).port}\n`))
