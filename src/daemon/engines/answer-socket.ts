import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'

const MAX_BODY = 64 * 1024 * 1024

/** A 400 in OpenAI's error format. */
export class BadRequest extends Error {
  override name = 'BadRequest'
  readonly param: string | null
  readonly code: string
  constructor(message: string, param: string | null, code = 'invalid_value') {
    super(message)
    this.param = param
    this.code = code
  }
}

/** Listens, prints `{"ready": true}` with `more` to stdout, and exits when stdin closes. */
export function answerSocket(
  socket: string,
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  more: object = {},
): void {
  process.stdin.resume().on('end', () => process.exit(0))
  createServer((request, response) => {
    answer(request, response).catch((error) => refuseAnswer(response, error))
  }).listen(socket, () => void process.stdout.write(`${JSON.stringify({ ready: true, ...more })}\n`))
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_BODY) throw new BadRequest('The request is larger than 64 MB.', null)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

export function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/**
 * Sends an error in OpenAI's format. In the middle of a stream it breaks the connection, which no client mistakes
 * for the end.
 */
function refuseAnswer(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  const bad = error instanceof BadRequest
  const message = error instanceof Error ? error.message : String(error)
  json(response, bad ? 400 : 500, {
    error: {
      message,
      type: bad ? 'invalid_request_error' : 'server_error',
      param: bad ? error.param : null,
      code: bad ? error.code : null,
    },
  })
}
