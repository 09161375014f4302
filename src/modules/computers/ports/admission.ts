import type { IncomingMessage } from 'node:http'
import { judgeNow } from '#authz/rights.ts'
import type { Engine } from '#infra/context.ts'
import { absent, refuse } from '#core/errors.ts'
import { type Authority, type Principal, membershipIn } from '#core/principal.ts'
import { cookieIn } from '#core/http/cookies.ts'
import { checkMayUse } from '../access.ts'
import { type ComputerRow, computerStore } from '../store.ts'
import type { PreviewAddress } from './address.ts'
import { holderOf } from '../tickets/tickets.ts'

/** The path that redeems tickets. */
export const ENTER = '/.well-known/ukiyo/enter'

export type Pass = { kind: 'key'; secret: string } | { kind: 'cookie'; token: string }

export interface Admission {
  /** A key takes precedence over the cookie. Null: neither is ours. */
  passOf(request: IncomingMessage): Pass | null
  /** Refuses unless the holder may view its ports now. */
  check(pass: Pass, at: PreviewAddress, signal: AbortSignal): Promise<ComputerRow>
  cookieName: string
  cookieFor(token: string): string
}

/** Any other `Authorization` belongs to the program. */
export const OUR_KEY = /^uk_/
export const OUR_COOKIE = /^(__Host-)?uk_(session|preview)$/

export function createAdmission(engine: Engine, authority: Pick<Authority, 'byKey' | 'renew'>): Admission {
  const secure = (): boolean => engine.origin().startsWith('https:')
  const name = (): string => (secure() ? '__Host-uk_preview' : 'uk_preview')

  async function principalOf(pass: Pass, at: PreviewAddress, signal: AbortSignal): Promise<Principal> {
    if (pass.kind === 'key') return authority.byKey(pass.secret)
    const holder = await holderOf(engine, at, pass.token, signal)
    return (
      holder?.principal ??
      refuse('session_expired', { message: 'Your session has expired. Open this port from Ukiyo again.' })
    )
  }

  return {
    get cookieName() {
      return name()
    },
    cookieFor: (token) => `${name()}=${token}; Path=/; HttpOnly; SameSite=Lax${secure() ? '; Secure' : ''}`,
    passOf({ headers }) {
      const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
      const secret = [bearer, headers['x-api-key']].find((one) => typeof one === 'string' && OUR_KEY.test(one))
      if (typeof secret === 'string') return { kind: 'key', secret }
      const token = cookieIn(headers.cookie, name())
      return token === null ? null : { kind: 'cookie', token }
    },
    async check(pass, at, signal) {
      const principal = await principalOf(pass, at, signal)
      const row = await computerStore.get(engine.postgres.db, at.computerId)
      const workspaceIds = row && [row.workspace_id, ...row.exposures.map((one) => one.workspace_id)]
      return judgeNow(authority, principal, (judged) => {
        if (row === null || !workspaceIds!.some((id) => membershipIn(judged, id)))
          return refuse('not_found', { message: absent('computer') })
        checkMayUse(judged, row, 'ports')
        return row
      })
    },
  }
}
