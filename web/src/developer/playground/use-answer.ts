import { useEffect, useRef, useState } from 'react'
import { readAnswer, requestOf } from '#interfaces/docs/browser/try-it.js'
import { queryClient } from '../../shared/api.ts'
import type { FilledRequest } from './draft.ts'

export interface Answer {
  /** Null: no response. */
  status: { code: number; words: string } | null
  headers: readonly (readonly [name: string, value: string])[]
  requestId: string | null
  body: string
  /** Milliseconds to the first byte, and to the end; null while streaming. */
  headMs: number
  tookMs: number | null
  broken: string | null
}

/** Sends one request at a time and streams its response. Leaving the page aborts it. */
export function useAnswer() {
  const [answer, setAnswer] = useState<Answer | null>(null)
  const [going, setGoing] = useState(false)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const send = async (call: FilledRequest, isBytes: boolean): Promise<void> => {
    running.current?.abort()
    const own = (running.current = new AbortController())
    const startedAt = performance.now()
    const since = (): number => Math.round(performance.now() - startedAt)
    setAnswer(null)
    setGoing(true)
    const show = (change: (before: Answer | null) => Answer | null): void => {
      if (running.current === own) setAnswer(change)
    }
    try {
      const [url, options] = requestOf(call)
      const response = await fetch(url, { ...options, signal: own.signal })
      const headMs = since()
      show(() => ({
        status: { code: response.status, words: response.statusText },
        headers: [...response.headers],
        requestId: response.headers.get('x-request-id'),
        body: '',
        headMs,
        tookMs: null,
        broken: null,
      }))
      await readAnswer(response, isBytes, (body) => show((before) => before && { ...before, body }))
      show((before) => before && { ...before, tookMs: since() })
      // The call may have changed data that other pages cache.
      if (call.method !== 'GET') void queryClient.invalidateQueries()
    } catch (error) {
      const broken = own.signal.aborted ? 'Stopped.' : `The request failed: ${(error as Error).message}`
      const nothing = { status: null, headers: [], requestId: null, body: '', headMs: since() }
      show((before) => ({ ...(before ?? nothing), tookMs: since(), broken }))
    } finally {
      if (running.current === own) setGoing(false)
    }
  }
  return { answer, going, send, stop: () => running.current?.abort() }
}
