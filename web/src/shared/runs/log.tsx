import { Link } from '@tanstack/react-router'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { ApiError } from '#interfaces/client.ts'
import { uk } from '../api.ts'
import { refusal, sayError } from '../../ui/calls/errors.ts'
import { visible } from '../../ui/text/visible.ts'
import type { RunEvent } from '../conversation/queries.ts'
import { Refused } from '../../ui/notice.tsx'
import { type Log, type LogLine, emptyLog, logged } from './lines.ts'

const AGAIN_MS = 1_000
/** Batches events into one render. */
const GATHER_MS = 60
const NEAR = 40

/** The agent's log of a run: the history first, then live, resuming after connection losses. */
export function AgentLog({ chatId, runId }: { chatId: string; runId: string }) {
  const [log, setLog] = useState<Log>(emptyLog)
  const [trouble, setTrouble] = useState<string | null>(null)
  useEffect(() => {
    const leaving = new AbortController()
    setLog(emptyLog)
    void follow(chatId, runId, leaving.signal, setLog, setTrouble)
    return () => leaving.abort()
  }, [chatId, runId])
  return (
    <>
      <Refused>{trouble}</Refused>
      <Lines lines={log.lines} live={!log.ended && trouble === null} />
    </>
  )
}

async function follow(
  chatId: string,
  runId: string,
  signal: AbortSignal,
  onLog: (log: Log) => void,
  onTrouble: (why: string | null) => void,
): Promise<void> {
  let log = emptyLog
  let waiting: RunEvent[] = []
  let timer: ReturnType<typeof setTimeout> | null = null
  const draw = (): void => {
    timer = null
    log = logged(log, waiting)
    waiting = []
    if (!signal.aborted) onLog(log)
  }
  while (!signal.aborted && !log.ended) {
    try {
      const position = { id: chatId, run_id: runId, last_event_id: log.seq }
      for await (const event of await uk.chats.events(position, { signal })) {
        waiting.push(event)
        timer ??= setTimeout(draw, GATHER_MS)
      }
      if (timer !== null) clearTimeout(timer)
      draw()
      if (log.ended) return
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ApiError && error.status < 500 && error.status !== 429)
        return onTrouble(
          error.status === 404 ? 'The chat was deleted, or you don’t have access to it.' : sayError(error),
        )
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

export function CommandLog({ operationId, going }: { operationId: string; going: boolean }) {
  const [text, setText] = useState<string | null>(null)
  const [trouble, setTrouble] = useState<string | null>(null)
  useEffect(() => {
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async (): Promise<void> => {
      try {
        const { body } = await uk.operations.content({ id: operationId }, { signal: leaving.signal })
        const decoder = new TextDecoder()
        let whole = ''
        for await (const part of body) whole += decoder.decode(part, { stream: true })
        setText(whole + decoder.decode())
        setTrouble(null)
      } catch (error) {
        if (leaving.signal.aborted) return
        const { code, status } = refusal(error) ?? {}
        if (status === 404) setTrouble('Only the owner of the automation can see its output.')
        else if (code !== 'not_ready') setTrouble(sayError(error))
      }
      if (going && !leaving.signal.aborted) timer = setTimeout(() => void read(), AGAIN_MS)
    }
    void read()
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, [operationId, going])
  if (trouble !== null) return <p className="text-sm text-quiet">{trouble}</p>
  const lines = (text ?? '').replace(/\n$/, '').split('\n')
  return (
    <Lines
      live={going}
      lines={text ? lines.map((one, at) => ({ key: String(at), at: '', kind: 'text', text: one })) : []}
    />
  )
}

const looks: Record<LogLine['kind'], string> = {
  state: 'text-quiet',
  text: '',
  reasoning: 'text-quiet italic',
  tool: 'text-ai',
  result: '',
  error: 'text-seal',
  cost: 'text-quiet',
}
const says: Partial<Record<LogLine['kind'], string>> = {
  reasoning: 'thinks',
  tool: 'calls',
  result: 'gets',
  error: 'fails',
}
const clock = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

/** Numbered lines with links. Follows the end while the reader is scrolled there. */
function Lines({ lines, live }: { lines: readonly LogLine[]; live: boolean }) {
  const box = useRef<HTMLDivElement>(null)
  const follows = useRef(true)
  const found = useRef(false)
  useLayoutEffect(() => {
    const line = found.current ? null : box.current!.querySelector(`[id="${CSS.escape(location.hash.slice(1))}"]`)
    if (line) {
      found.current = true
      follows.current = false
      line.scrollIntoView({ block: 'center' })
    }
    if (follows.current) box.current!.scrollTop = box.current!.scrollHeight
  }, [lines])
  return (
    <div
      ref={box}
      role="log"
      aria-label="Log"
      aria-busy={live}
      tabIndex={0}
      onScroll={({ currentTarget: now }) => {
        follows.current = now.scrollHeight - now.scrollTop - now.clientHeight <= NEAR
      }}
      className="max-h-[60dvh] min-h-24 overflow-auto border border-line border-t-keyline bg-sunk/50 py-2 font-mono text-[0.8125rem] leading-relaxed"
    >
      {lines.length === 0 && <p className="px-4 text-quiet">{live ? 'Waiting for output …' : 'No output.'}</p>}
      <ol>
        {lines.map(({ key, at, kind, text, chatId }, i) => (
          <li key={key} id={`L${i + 1}`} className={`flex gap-3 px-4 target:bg-ochre/22 ${looks[kind]}`}>
            <a
              href={`#L${i + 1}`}
              aria-label={`Line ${i + 1}`}
              className="figures w-7 shrink-0 text-right text-quiet select-none hover:underline"
            >
              {i + 1}
            </a>
            {at && (
              <time dateTime={at} className="figures hidden shrink-0 text-quiet sm:inline">
                {clock.format(new Date(at))}
              </time>
            )}
            <span className="min-w-0 flex-1 whitespace-pre-wrap [overflow-wrap:anywhere]">
              {says[kind] && <span className="text-quiet not-italic">{says[kind]} </span>}
              {visible(text)}
              {chatId && (
                <>
                  {' '}
                  <Link to="/chats/$id" params={{ id: chatId }} className="link">
                    in the chat
                  </Link>
                </>
              )}
            </span>
          </li>
        ))}
      </ol>
      {live && lines.length > 0 && <p className="px-4 text-quiet">◌ running</p>}
    </div>
  )
}
