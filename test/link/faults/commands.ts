import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Scene } from './scene.ts'

const LINES = 40

/** The result reported to the caller. `refused`: never started; `unknown`: the response was lost. */
export type End = 'ended' | 'lost' | 'refused' | 'unknown'

export interface Command {
  key: string
  end: End
}

const scriptOf = (key: string, code: number, ran: string): string =>
  `echo ${key} >> ${ran}; i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo ${key} $i; sleep 0.02; done; exit ${code}`
const outputOf = (key: string): string => Array.from({ length: LINES }, (_, at) => `${key} ${at + 1}\n`).join('')

interface CommandResult {
  exit_code: number | null
  signal: string | null
  timed_out: boolean
  truncated: boolean
  stdout: string
}

function check({ exit_code, signal, timed_out, truncated, stdout }: CommandResult, key: string, code: number): void {
  assert.deepEqual([exit_code, signal, timed_out], [code, null, false], `${key}: its true end`)
  // Lost output must be reported.
  if (!truncated) assert.equal(stdout, outputOf(key))
}

/** Runs a command as an operation and polls it. */
export async function inBackground(scene: Scene, at: number, ran: string): Promise<Command> {
  const [key, code] = [`background-${at}`, at % 100]
  const killed = scene.keepersKilled
  const body = { command: scriptOf(key, code, ran), background: true }
  const response = await scene.ask('POST', '/exec', body)
  if (response?.status !== 202) {
    assert.ok(response === null || response.status >= 500, JSON.stringify(response))
    return { key, end: 'unknown' }
  }
  for (;;) {
    const answer = await scene.call(
      'GET',
      `/operations/${response.data.id}/await?since_status=running&timeout_seconds=5`,
    )
    if (answer?.status !== 200) {
      assert.ok(answer === null || answer.status >= 500, JSON.stringify(answer))
      await sleep(100)
      continue
    }
    const { status, result, error, completed_at } = answer.data
    if (completed_at === null) continue
    if (status === 'succeeded') {
      check(result, key, code)
      return { key, end: 'ended' }
    }
    assert.equal(status, 'failed', `${key}: ${JSON.stringify(answer.data)}`)
    // The machine was offline at the start.
    if (error.code === 'computer_offline') return { key, end: 'refused' }
    assert.equal(error.code, 'interrupted', `${key}: ${JSON.stringify(error)}`)
    assert.ok(scene.keepersKilled > killed, `${key}: only a keeper that was killed loses a command`)
    return { key, end: 'lost' }
  }
}

/** Runs a command on one connection. */
export async function inForeground(scene: Scene, at: number, ran: string): Promise<Command> {
  const [key, code] = [`foreground-${at}`, at % 100]
  const killed = scene.keepersKilled
  const answer = await scene.ask('POST', '/exec', { command: scriptOf(key, code, ran) })
  if (answer === null || answer.status === 409) return { key, end: 'unknown' }
  if (answer.status === 200) {
    check(answer.data, key, code)
    return { key, end: 'ended' }
  }
  assert.equal(answer.status, 503, JSON.stringify(answer.data))
  if (answer.data.code === 'interrupted' && answer.data.details?.lost) {
    assert.ok(scene.keepersKilled > killed, `${key}: only a keeper that was killed loses a command`)
    return { key, end: 'lost' }
  }
  return { key, end: 'unknown' }
}
