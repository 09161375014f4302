import { randomInt, timingSafeEqual } from 'node:crypto'
import { hashSecret, randomBase62 } from '#authz/api-key.ts'
import { visibleWorkspaces } from '#authz/resources.ts'
import { type Context, implement } from '#infra/context.ts'
import { finder } from '#core/context.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { behalfOf } from '#core/principal.ts'
import { CAPABILITIES } from '#core/scopes.ts'
import { iso } from '#core/time.ts'
import { computerPairings } from '../contract.ts'
import { MAX_WRONG_CODES, type PairingRow, pairingStore } from './store.ts'

const MINUTES = 10
/** Users can remove some from the command. `users` must be added explicitly. */
const ALLOWED = CAPABILITIES.filter((one) => one !== 'users').join(',')
const MAX_PENDING = 100

/** Leaves out look-alikes: I, L, O, U, 0, 1. */
const LETTERS = '23456789ABCDEFGHJKMNPQRSTVWXYZ'
const letters = (count: number): string =>
  Array.from({ length: count }, () => LETTERS[randomInt(LETTERS.length)]).join('')

/** Normalizes a typed code: upper case, without separators. */
export const codeOf = (input: string): string | null => {
  const code = input.toUpperCase().replaceAll(/[\s-]/g, '')
  return code.length === 8 && [...code].every((letter) => LETTERS.includes(letter)) ? code : null
}
export const halfOf = (code: string): string => code.slice(0, 4)
export const isCode = (code: string, { code_hash }: PairingRow): boolean => timingSafeEqual(hashSecret(code), code_hash)

/** Visible only to its creator while a member of its workspace. */
const pairing = finder('computer_pairing', async ({ db, principal }: Context, id) => {
  const row = await pairingStore.get(db, id)
  if (row?.account_id !== principal.accountId) return null
  return { id, workspace_id: row.workspace_id, updated_at: row.updated_at, row }
})

export const pairingService = implement(
  computerPairings,
  {
    async list(ctx, { workspace_id, cursor, limit }) {
      const { accountId } = ctx.principal
      const workspaces = visibleWorkspaces(ctx, 'computer:read', workspace_id)
      const filters = { accountId, workspace_id }
      const before = positionOf('computer_pairings', filters, cursor)
      const rows = await pairingStore.list(ctx.db, accountId, workspaces, (before?.[0] as Id) ?? null, limit + 1)
      return pageOf(
        rows,
        limit,
        ({ id }) => cursorOf('computer_pairings', filters, [id]),
        (row) => show(ctx, row),
      )
    },

    async create(ctx, { name }) {
      const token = `ukp_${randomBase62(43)}`
      const code = letters(8)
      if ((await pairingStore.countWaiting(ctx.db, ctx.principal.accountId)) >= MAX_PENDING)
        refuse('limit_reached', {
          message: `You can have up to ${MAX_PENDING} pending pairings.`,
          details: { limit: MAX_PENDING },
        })
      const row = await pairingStore.insert(ctx.db, {
        id: newId(),
        ...behalfOf(ctx.principal),
        workspace_id: ctx.workspace!.id,
        name,
        token_hash: hashSecret(token),
        code_half: halfOf(code),
        code_hash: hashSecret(code),
        expires_at: new Date(ctx.now().getTime() + MINUTES * 60_000),
      })
      const origin = ctx.engine.origin()
      return {
        ...show(ctx, row),
        token,
        code: `${halfOf(code)}-${code.slice(4)}`,
        command: `UK_PAIR_TOKEN=${token} uk computer run --url ${origin} --allow ${ALLOWED}`,
        install_command: `curl -fsS ${origin}/install | UK_PAIR_TOKEN=${token} sh -s -- --allow ${ALLOWED}`,
      }
    },

    get: (ctx) => show(ctx, pairing.of(ctx).row),

    async cancel(ctx, { id }) {
      const { row } = pairing.of(ctx)
      if (!(await pairingStore.cancel(ctx.db, id)) && statusOf(ctx, row) === 'paired')
        refuse('invalid_state', {
          message: 'A computer already redeemed this pairing. Delete the computer instead.',
          details: { status: 'paired', allowed: [], computer_id: row.computer_id },
        })
      return { id }
    },
  },
  [pairing],
)

const statusOf = (
  ctx: Context,
  { redeemed_at, expires_at, wrong_codes }: PairingRow,
): 'waiting' | 'paired' | 'expired' =>
  redeemed_at !== null ? 'paired' : expires_at <= ctx.now() || wrong_codes >= MAX_WRONG_CODES ? 'expired' : 'waiting'

const show = (ctx: Context, row: PairingRow) => ({
  id: row.id,
  name: row.name,
  workspace_id: row.workspace_id,
  status: statusOf(ctx, row),
  computer_id: row.computer_id,
  expires_at: iso(row.expires_at),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})
