import { storageFault } from '#infra/postgres/faults.ts'
import { hash } from 'node:crypto'
import type { Background, Page, Results } from '#core/answers.ts'
import type { Reply } from '#core/contract.ts'
import { type ErrorBody, Refusal, errorBody } from '#core/errors.ts'
import type { WrittenRefusal } from '#core/http/exchange.ts'

/** The JSON body in the envelope of the reply's kind. Streams, bytes, and empty replies have none. */
export function envelope(reply: Reply, answer: unknown, input: Record<string, unknown>): unknown {
  switch (reply.kind) {
    case 'one':
      return { data: answer }
    case 'operation':
      return { data: isBackground(answer) ? answer.operation : answer }
    case 'page': {
      // A terminal also has `rows`, which is a number.
      if (reply.or !== undefined && !Array.isArray((answer as { rows?: unknown }).rows)) return { data: answer }
      const { rows, next, extra } = answer as Page<unknown>
      return { data: rows, pagination: { has_more: next !== null, next_cursor: next }, ...extra }
    }
    case 'results': {
      const { items, total_count, query, applied_filters } = answer as Results<unknown>
      const offset = input.offset as number
      return { items, total_count, offset, has_more: offset + items.length < total_count, query, applied_filters }
    }
    case 'deleted':
      return { deleted: true, id: (answer as { id: string }).id }
    case 'stream':
    case 'bytes':
    case 'none':
      return undefined
  }
}

export const isBackground = (answer: unknown): answer is Background =>
  answer !== null && typeof answer === 'object' && 'operation' in answer

export const etagOf = (body: string): string => `"${hash('sha1', body, 'base64url')}"`

/** Whether a tag list matches: `If-None-Match` compares weakly, `If-Match` strongly (RFC 9110, 13.1). */
export const names = (header: string, etag: string, how: 'weakly' | 'strongly'): boolean =>
  header.trim() === '*' ||
  header.split(',').some((part) => (how === 'weakly' ? part.trim().replace(/^W\//, '') : part.trim()) === etag)

export interface RefusedAnswer extends WrittenRefusal {
  body: ErrorBody
  fault: unknown
}

/** Encodes every refusal. Other errors are faults and reveal nothing. */
export function refusedAnswer(error: unknown): RefusedAnswer {
  if (error instanceof Refusal)
    return { status: error.status, headers: error.headers ?? {}, body: errorBody(error), fault: null }
  const refusal = unstorable(error) ?? storageFault(error) ?? new Refusal('internal_error')
  const fault = refusal.status < 500 ? null : error
  return { status: refusal.status, headers: refusal.headers ?? {}, body: errorBody(refusal), fault }
}

function unstorable(error: unknown): Refusal | null {
  if (!(error instanceof Error && 'code' in error)) return null
  // 22021 character_not_in_repertoire, 22P05 untranslatable_character: U+0000. 22P02: a lone surrogate in JSON.
  const half = error.code === '22P02' && 'detail' in error && /surrogate/.test(String(error.detail))
  if (!half && error.code !== '22021' && error.code !== '22P05') return null
  return new Refusal('invalid_parameter', {
    message: 'Text can’t contain the character U+0000 or an unpaired surrogate.',
  })
}
