/**
 * Approval questions over `/mcp`. The client returns the question with the answer. Each is valid for one call, once.
 */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Engine } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import type { Principal } from '#core/principal.ts'
import { isSameText } from '#core/text/same-text.ts'

const STANDS_MS = 600_000
const LONGEST = 500

export interface ConsentRequest {
  principal: Principal
  name: string
  input: unknown
}

/** `<id>.<expiry>.<signature>`, bound to this call. */
export function questionOf({ secrets }: Pick<Engine, 'secrets'>, request: ConsentRequest): string {
  const id = newId()
  const expires = String(Date.now() + STANDS_MS)
  return [id, expires, sign(secrets, id, expires, request)].join('.')
}

export async function redeem(
  { secrets, postgres }: Pick<Engine, 'secrets' | 'postgres'>,
  question: string,
  request: ConsentRequest,
): Promise<void> {
  const [id = '', expires = '', ...signature] = question.length > LONGEST ? [] : question.split('.')
  const expected = sign(secrets, id, expires, request)
  if (!isSameText(signature.join('.'), expected) || Number(expires) < Date.now()) notThis()
  const { db } = postgres
  await sql`delete from consents_used where expires_at < now()`.execute(db)
  const { rows } = await sql`insert into consents_used (id, expires_at) values (${id}, ${new Date(Number(expires))})
    on conflict do nothing returning id`.execute(db)
  if (rows.length === 0) notThis()
}

const notThis = (): never =>
  refuse('consent_required', {
    message: 'This approval was given for another request, was already used, or is older than 10 minutes. Ask again.',
  })

function sign(
  secrets: Engine['secrets'],
  id: string,
  expires: string,
  { principal: { accountId, credential }, name, input }: ConsentRequest,
): string {
  const key = credential.kind === 'key' ? credential.id : ''
  const digest = createHash('sha256').update(canonical(input)).digest('base64url')
  return secrets.sign('consent', JSON.stringify([id, expires, accountId, key, name, digest])).toString('base64url')
}

const canonical = (input: unknown): string =>
  JSON.stringify(input ?? null, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
