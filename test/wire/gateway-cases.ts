import { surfaces } from '#gateway/mount.ts'
import type { Behaviour, Vendor } from '#test/vendors/vendor.ts'
import { type Asked, json } from './asked.ts'

/** Somebody who serves models: the platform's name of one, and the vendor behind it; null: it is simulated. */
export interface Provider {
  model: string
  vendor: Vendor | null
}

/** Each path of each surface under each of its roots: by nobody, without a body, by HEAD, OPTIONS and a method that it lacks. */
export function surfaceCases(key: Record<string, string>): Asked[] {
  return surfaces.flatMap(({ roots, routes }) =>
    roots.flatMap((root) =>
      [...Object.entries(routes), ['/nope', { GET: 'read' }] as const].flatMap(([path, methods]) => {
        const target = root + path
        return Object.keys(methods).flatMap((method): Asked[] => {
          const body = method === 'GET' ? {} : json({})
          return [
            { method, target, ...body },
            { method, target, ...body, headers: key },
            ...(method === 'GET' ? [{ method: 'HEAD', target, headers: key }] : []),
            { method: 'OPTIONS', target, status: 204 },
            { method: 'PATCH', target, headers: key, ...json({}) },
          ]
        })
      }),
    ),
  )
}

const fault = { error: { type: 'overloaded', message: 'no', status: 529 } }
const scripts: object[][] = [
  [{ text: 'one two three' }],
  [],
  [fault],
  [{ text: 'one two' }, fault],
  [{ text: 'one' }, { delay_ms: 3 }, { text: 'two' }],
  [{ text: 'x'.repeat(300_000) }],
  [{ text: Array.from({ length: 3000 }, () => 'ü').join(' ') }],
  [{ reasoning: 'hm' }, { tool_call: { name: 'look', arguments: {} } }],
]

/** The things a vendor does beside answering: before its first byte, within a stream, and without HTTP's order. */
const behaviours: Behaviour[] = [
  {},
  { status: 400, message: 'no' },
  { midStreamError: true },
  { garbage: 'truncated' },
  { garbage: 'closes socket' },
  { garbage: 'not json' },
  { chunking: 7 },
  { perChunkDelayMs: 2 },
]

const chat = ['/compat-a/v1', '/compat-c/v1']
const messages = ['/compat-b/v1']
const responses = ['/compat-a/v1']

/** Calls of models on each surface: whole and streamed, whatever the provider does. Larger ones are Node's to read. */
export function modelCases(key: Record<string, string>, providers: readonly Provider[]): Asked[] {
  const call = (target: string, body: object, more: Partial<Asked> = {}): Asked => ({
    method: 'POST',
    target,
    headers: { ...key, 'content-type': 'application/json' },
    ...json(body),
    ...more,
  })
  /** Both ways to ask: whole and streamed. */
  const both = (model: string, content: string, more: Partial<Asked> = {}): Asked[] => {
    const asked = { model, max_tokens: 90_000, messages: [{ role: 'user', content }] }
    return [false, true].flatMap((stream) => [
      ...chat.map((root) => call(`${root}/chat/completions`, { ...asked, stream }, more)),
      ...messages.map((root) => call(`${root}/messages`, { ...asked, stream }, more)),
      ...responses.map((root) => call(`${root}/responses`, { model, input: content, stream }, more)),
    ])
  }
  const played = scripts.flatMap((steps) => both('sim/script', JSON.stringify({ steps })))
  const served = providers.flatMap(({ model, vendor }) =>
    behaviours.flatMap((behaviour) =>
      both(model, 'one two three', {
        before: () => vendor?.script(behaviour),
        ...(behaviour.garbage !== undefined && { breaks: true as const }),
      }),
    ),
  )
  return [
    ...both('sim/echo', 'one ü two'),
    ...both('sim/echo', 'x'.repeat(400_000)),
    ...both('nobody/has-it', 'x'),
    ...played,
    ...served,
  ]
}
