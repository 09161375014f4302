// Plain requests by node:http, unlike any vendor's client, and forms with files.
import { request } from 'node:http'
import type { Json, Vendor } from '../vendor.ts'
import type { MediaFile } from './made/file.ts'

export type Received = {
  status: number
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
  json(): Json
}

export type Body = { type: string; bytes: Buffer }

/** `to`: a vendor and a path, or a whole URL. Rejects when the connection breaks. */
export async function ask(
  method: string,
  to: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: Body | Json } = {},
): Promise<Received> {
  const content = body === undefined || isBody(body) ? body : asJson(body)
  return await new Promise((resolve, reject) => {
    const length = content === undefined ? {} : { 'content-type': content.type, 'content-length': content.bytes.length }
    const outgoing = request(to, { method, headers: { ...length, ...headers } }, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece)).on('error', reject)
      response.on('end', () => {
        const bytes = Buffer.concat(pieces)
        const json = () => JSON.parse(bytes.toString('utf8')) as Json
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, json })
      })
    })
    outgoing.on('error', reject).end(content?.bytes)
  })
}

export function asJson(value: Json): Body {
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }
}

/** A form: texts, and files with their names. A list repeats a field. */
export async function asForm(fields: Record<string, string | MediaFile | (string | MediaFile)[]>): Promise<Body> {
  const form = new FormData()
  for (const [name, values] of Object.entries(fields)) {
    for (const value of [values].flat()) {
      if (typeof value === 'string') form.append(name, value)
      else form.append(name, new Blob([Uint8Array.from(value.bytes)], { type: value.type }), nameOf(value.type))
    }
  }
  const response = new Response(form)
  return { type: response.headers.get('content-type') ?? '', bytes: Buffer.from(await response.arrayBuffer()) }
}

const endings: Record<string, string> = { 'audio/mpeg': 'mp3', 'audio/ogg': 'ogg', 'text/plain': 'txt' }

function nameOf(type: string): string {
  return `file.${endings[type] ?? type.split('/')[1]}`
}

export function bearer({ key }: Vendor): { authorization: string } {
  return { authorization: `Bearer ${key}` }
}

function isBody(body: Body | Json): body is Body {
  return Buffer.isBuffer(body['bytes'])
}
