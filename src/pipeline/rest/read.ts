import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { BodyPieces } from '#infra/bodies/body-pieces.ts'
import { paceBody } from '#packages/fair-queue/read-turns.ts'
import { receivedBodies } from '#infra/bodies/received-bodies.ts'
import { WHOLE_MS, dropSender } from '#infra/bodies/slow-body.ts'
import type { AnyEndpoint } from '#core/contract.ts'
import { pathNames } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import { checkCounts } from '#core/json/json-counts.ts'
import { checkShape, refuseJson } from '#core/json/json-text.ts'
import { parse, pathId } from '../parse.ts'
import { countLimitsOf } from './count-limits.ts'

const DEFAULT_LIMIT = 1 << 20
const DEEPEST = 64

/**
 * Reads the whole body. Throws 413 as soon as it exceeds the limit, and 429 if the sender has too much in
 * flight. The bytes count against `sender` until `resources` is disposed of.
 */
export function readBytes(
  request: IncomingMessage,
  limit: number,
  sender: string,
  resources: DisposableStack,
): Promise<Buffer> {
  const tooLarge = () =>
    refuse('payload_too_large', {
      message: `The body can have up to ${limit} bytes.`,
      details: { limit_bytes: limit },
    })
  const length = request.headers['content-length']
  if (length !== undefined && Number(length) > limit) tooLarge()
  return new Promise((resolve, reject) => {
    const share = resources.use(receivedBodies.share(sender))
    const pieces = new BodyPieces(Number(length ?? limit))
    let size = 0
    let isRefused = false
    const slow = setTimeout(dropSender, WHOLE_MS, request).unref()
    request.once('close', () => clearTimeout(slow))
    request.on('data', (part: Buffer) => {
      size += part.length
      paceBody(request, sender, size)
      if (isRefused) return
      try {
        if (size > limit) tooLarge()
        share.add(part.length)
        pieces.add(part)
      } catch (error) {
        share[Symbol.dispose]()
        isRefused = true
        pieces.clear()
        reject(error)
      }
    })
    request.on('end', () => {
      if (isRefused) return
      const finish = (): void => resolve(pieces.join())
      const turn = share.turn()
      if (turn === null) finish()
      else void turn.then(finish)
    })
    request.on('error', reject)
    request.on('close', () => {
      if (request.complete) return
      share[Symbol.dispose]()
      reject(new Error('the caller left before the body was whole'))
    })
  })
}

export async function readJson(
  request: IncomingMessage,
  { bodyLimit = DEFAULT_LIMIT }: AnyEndpoint,
  schema: z.ZodObject,
  sender: string,
  resources: DisposableStack,
): Promise<Record<string, unknown>> {
  const type = request.headers['content-type']
  const bytes = await readBytes(request, bodyLimit, sender, resources)
  if (bytes.length === 0) return {}
  if (type === undefined || !/^application\/([\w.-]+\+)?json\b/i.test(type))
    refuse('unsupported_media_type', { message: 'Send the body as `Content-Type: application/json`.' })
  if (!isUtf8(bytes)) refuse('malformed_json', { message: 'The body isn’t valid UTF-8.' })
  checkCounts(bytes, countLimitsOf(schema))
  // The deepest level may contain an empty object.
  checkShape(bytes, DEEPEST + 1)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    return refuseJson(error)
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return refuse('invalid_parameter', { message: 'The body must be a JSON object.' })
  if (deeperThan(value, DEEPEST))
    refuse('malformed_json', { message: `The body can be nested up to ${DEEPEST} levels deep.` })
  return value as Record<string, unknown>
}

export function deeperThan(value: unknown, most: number): boolean {
  if (most < 0) return true
  if (value === null || typeof value !== 'object') return false
  return Object.values(value).some((inner) => deeperThan(inner, most - 1))
}

export function readQuery(search: string, schema: z.ZodObject): Record<string, unknown> {
  const lists = new Map<string, string[]>()
  for (const [key, value] of new URLSearchParams(search)) {
    const list = lists.get(key)
    if (list) list.push(value)
    else lists.set(key, [value])
  }
  // Built from entries, so `__proto__` is an ordinary key.
  return Object.fromEntries(
    [...lists].map(([key, list]) => [key, list.length > 1 || isList(schema.shape[key]) ? list : list[0]]),
  )
}

export const readHeaders = (headers: IncomingHttpHeaders, schema: z.ZodObject): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(schema.shape)
      .map((name) => [name, headers[name.replaceAll('_', '-')]] as const)
      .filter(([, value]) => value !== undefined),
  )

/**
 * Form fields are text; those with an object or list schema are parsed as JSON (OpenAPI 3.1.1, "Encoding object").
 * Invalid JSON stays text and is refused later.
 */
export const readJsonParts = (fields: Record<string, string>, { shape }: z.ZodObject): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, text]) => [
      name,
      Object.hasOwn(shape, name) && isStructured(shape[name]) ? jsonOr(text) : text,
    ]),
  )

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

interface Kind {
  def?: { type?: string; innerType?: Kind; options?: Kind[] }
}

function kindOf(schema: unknown): Kind | undefined {
  let kind = schema as Kind | undefined
  while (kind?.def && ['optional', 'default', 'nullable'].includes(kind.def.type ?? '')) kind = kind.def.innerType
  return kind
}

const isList = (schema: unknown): boolean => kindOf(schema)?.def?.type === 'array'

function isStructured(schema: unknown): boolean {
  const { type, options } = kindOf(schema)?.def ?? {}
  return type === 'union' ? options!.every(isStructured) : ['object', 'record', 'array'].includes(type ?? '')
}

export function readPath(endpoint: AnyEndpoint, values: readonly string[]): Record<string, unknown> {
  const path: Record<string, unknown> = {}
  pathNames(endpoint.path).forEach((name, i) => {
    const schema: z.ZodType | undefined = endpoint.params?.[name]
    path[name] = schema ? parse(schema, values[i], name) : pathId(endpoint.path, name, values[i]!)
  })
  return path
}
