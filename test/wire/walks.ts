import type { TestContext } from 'node:test'
import type { Asked } from './asked.ts'
import { type Seen, walk } from './walk.ts'

/** One after the other, then five at once. */
export async function walks(t: TestContext, origin: string, asked: readonly Asked[], probe: Asked): Promise<Seen[]> {
  const seen = [await walk(asked, { origin, probe }), await walk(asked, { origin, probe, together: 5 })]
  for (const { answers, connections, statuses } of seen) {
    const known = [...statuses.keys()].toSorted((a, b) => a - b).join(' ')
    t.diagnostic(`${answers} answers on ${connections} connections: ${known}`)
  }
  return seen
}

/** Hands its connection to Node's server for good. */
export const byNode: Asked = { method: 'GET', target: '/v1/nowhere', status: 404 }
/** Leaves its connection with the short way. */
export const byUs: Asked = { method: 'POST', target: '/compat-a/v1/chat/completions', body: '{}', status: 401 }
