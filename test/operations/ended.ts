import type { Caller } from '../server.ts'

/** An operation once it has ended, through as many transitions as it takes. */
export async function ended(by: Caller, id: string): Promise<any> {
  for (let since = 'queued'; ;) {
    const { body } = await by.get(`/operations/${id}/await?since_status=${since}&timeout_seconds=60`)
    since = body.data.status
    if (since !== 'queued' && since !== 'running') return body.data
  }
}
