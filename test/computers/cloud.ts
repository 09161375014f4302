import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import type { Answer, Caller } from '../server.ts'
import { until } from '../until.ts'

export interface Clouds {
  /** Returns the ID of a running computer. */
  make(more?: object, who?: Caller): Promise<string>
  /** Waits for an operation to end. */
  waitForEnd(id: string): Promise<Answer['body']>
  exec(id: string, command: string, more?: object): Promise<Answer['body']>
  load(id: string): Promise<Answer['body']>
  lifecycle(id: string): Promise<string>
  settles(id: string, lifecycle: string): Promise<unknown>
  /** Returns the operation. */
  snapshot(id: string, name?: string): Promise<Answer['body']>
  /** To be deleted. */
  ids: ReadonlySet<string>
}

/** Helpers for cloud computers. `who`: the current caller, who changes when the server restarts. */
export function cloudsOf(who: () => Caller): Clouds {
  const ids = new Set<string>()
  async function waitForEnd(id: string): Promise<Answer['body']> {
    for (let status = 'queued'; ;) {
      const { data } = (await who().get(`/operations/${id}/await?since_status=${status}`)).body
      if (!['queued', 'running'].includes(data.status)) return data
      status = data.status
    }
  }
  const load = async (id: string) => (await who().get(`/computers/${id}`)).body.data
  return {
    ids,
    waitForEnd,
    load,
    async make(more = {}, by = who()) {
      const response = await by.post('/app/computers', { name: 'Box', ...more })
      assert.equal(response.status, 202, response.text)
      const operation = await waitForEnd(response.body.data.id)
      assert.equal(operation.status, 'succeeded', JSON.stringify(operation.error))
      ids.add(operation.result.id)
      return operation.result.id
    },
    async exec(id, command, more = {}) {
      const { status, body, text } = await who().post(`/computers/${id}/exec`, { command, ...more })
      assert.equal(status, 200, text)
      return body.data
    },
    lifecycle: async (id) => (await load(id)).lifecycle,
    settles: (id, target) =>
      until(
        async () => (await load(id)).lifecycle,
        (current) => current === target,
      ),
    async snapshot(id, name) {
      const response = await who().post(`/computers/${id}/snapshots`, name === undefined ? {} : { name })
      assert.equal(response.status, 202, response.text)
      return waitForEnd(response.body.data.id)
    },
  }
}

/** Local processes with this text in their command line. */
export const processesWith = (words: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').includes(words) ? [Number(pid)] : []
      } catch {
        return []
      }
    })
