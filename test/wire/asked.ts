/** A request as it will stand on the wire. */
export interface Asked {
  method: string
  target: string
  headers?: Record<string, string>
  /** Sent with its length, or where `chunked` in pieces. */
  body?: string | Buffer
  chunked?: true
  /** The status of the answer, where it is known. */
  status?: number
  /** The answer breaks off: its connection ends before it does. */
  breaks?: true
  /** Just before it is sent. */
  before?: () => void
}

/** `named` comes back in the answer of whatever echoes it. */
export function bytesOf(
  { method, target, headers = {}, body, chunked }: Asked,
  named: string,
  more: Record<string, string> = {},
): Buffer {
  const bytes = body === undefined ? null : Buffer.from(body)
  const fields = { host: '127.0.0.1', ...more, ...headers, 'x-client-request-id': named }
  const length = bytes === null ? [] : chunked ? ['transfer-encoding: chunked'] : [`content-length: ${bytes.length}`]
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  const head = [`${method} ${target} HTTP/1.1`, ...lines, ...length].join('\r\n')
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), ...(bytes === null ? [] : chunked ? pieces(bytes) : [bytes])])
}

function pieces(bytes: Buffer): Buffer[] {
  const middle = bytes.length >> 1
  return [bytes.subarray(0, middle), bytes.subarray(middle), Buffer.alloc(0)].flatMap((piece, i) =>
    piece.length === 0 && i < 2 ? [] : [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')],
  )
}

export const json = (body: object): Pick<Asked, 'body'> => ({ body: JSON.stringify(body) })
