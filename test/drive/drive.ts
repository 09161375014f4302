import type { Answer, Caller } from '../server.ts'

type Part = [name: string, value: string] | [name: string, value: Uint8Array, fileName: string]

const BOUNDARY = 'a-boundary-of-the-tests'

/** A form as it stands on the wire, its parts in this order (RFC 7578). */
export function form(parts: readonly Part[]): { body: Buffer; headers: Record<string, string> } {
  const pieces = parts.flatMap(([name, value, fileName]) => [
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${
        fileName === undefined
          ? ''
          : `; filename="${fileName.replaceAll('"', '\\"')}"\r\nContent-Type: application/octet-stream`
      }\r\n\r\n`,
    ),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ])
  return {
    body: Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  }
}

/** Uploads bytes as the part `file`, after these fields. */
export function upload(
  caller: Caller,
  fields: Record<string, string>,
  bytes: Uint8Array,
  fileName: string,
): Promise<Answer> {
  const { body, headers } = form([...Object.entries(fields), ['file', bytes, fileName]])
  return caller.request('POST', '/drive/files', body, headers)
}
