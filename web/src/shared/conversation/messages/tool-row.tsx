import { useEffect, useRef } from 'react'
import { lettersAreOn, takesLetters } from '../../letters.ts'
import { Button } from '../../../ui/button.tsx'
import { Refused } from '../../../ui/notice.tsx'
import { useSend } from '../../../ui/calls/send.ts'
import { visible } from '../../../ui/text/visible.ts'
import type { Message, Run } from '../queries.ts'
import type { ToolResult } from '../thread/tree.ts'
import { shorten } from '../../../../../src/core/text/shorten.ts'
import { jsonText } from '../../../ui/text/json-text.ts'

type Call = Extract<Message['content'][number], { type: 'tool_call' }>
export type Decided = { id: string; decision: 'allow' | 'deny'; remember?: 'chat' }
export type Decide = (runId: string, actions: Decided[]) => Promise<void>

const states = {
  going: { sign: '◌', word: 'running' },
  waits: { sign: '●', word: 'needs approval' },
  done: { sign: '✓', word: 'done' },
  failed: { sign: '✕', word: 'failed' },
  unknown: { sign: '–', word: 'not run' },
} as const

/** A tool call: expands to its input and output, and asks for approval inline. */
export function ToolRow({
  call,
  result,
  run,
  decide,
  mayRemember,
}: {
  call: Call
  result: ToolResult | undefined
  run: Run | null
  decide: Decide | undefined
  mayRemember: boolean
}) {
  const pending = run?.pending_actions.find(({ id }) => id === call.id)
  const state = result
    ? result.isError
      ? 'failed'
      : 'done'
    : pending
      ? 'waits'
      : run?.status === 'running'
        ? 'going'
        : 'unknown'
  const { sign, word } = states[state]
  return (
    <div className={`border bg-sheet text-sm leading-normal ${pending ? 'border-seal/55' : 'border-line'}`}>
      <details>
        <summary className="flex items-baseline gap-2 px-3 py-2 hover:bg-sunk">
          <span aria-hidden="true" className={pending || state === 'failed' ? 'text-seal' : 'text-quiet'}>
            {sign}
          </span>
          <span className="font-medium">{call.name}</span>
          <span className="min-w-0 flex-1 truncate font-mono text-quiet">{visible(briefOf(call.arguments))}</span>
          <span className="text-quiet">{word}</span>
        </summary>
        <div className="space-y-2 border-t border-line px-3 py-2">
          <Text label="Input" text={pretty(call.arguments)} />
          {result && <Text label={result.isError ? 'Error' : 'Output'} text={outputText(result.output)} />}
        </div>
      </details>
      {pending && run && decide && (
        <Decision
          run={run}
          id={call.id}
          kind={pending.kind}
          canRemember={pending.can_remember && mayRemember}
          decide={decide}
        />
      )}
    </div>
  )
}

const words: Record<string, string> = {
  approval: 'This tool call needs your approval.',
  interrupted: 'The server stopped during this call, so it may already have run. Allowing it runs it again.',
  subagent: 'The agent for this task is waiting for approval in its own chat.',
}

function Decision({
  run,
  id,
  kind,
  canRemember,
  decide,
}: {
  run: Run
  id: string
  kind: string
  canRemember: boolean
  decide: Decide
}) {
  const { send, pending, rest } = useSend((given: Omit<Decided, 'id'>) => decide(run.id, [{ id, ...given }]))
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const { ctrlKey, metaKey, altKey, repeat, defaultPrevented, target } = event
      // The letter may be the second of a sequence such as `g a`.
      if (defaultPrevented || repeat || ctrlKey || metaKey || altKey || !lettersAreOn() || takesLetters(target)) return
      // A key decides the first waiting call.
      if (document.querySelector('[data-decision]') !== box.current) return
      if (event.key === 'y') void send({ decision: 'allow' })
      else if (event.key === 'a' && canRemember) void send({ decision: 'allow', remember: 'chat' })
      else if (event.key === 'n') void send({ decision: 'deny' })
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [send, canRemember])
  if (kind === 'subagent') return <p className="border-t border-line px-3 py-2">{words['subagent']}</p>
  return (
    <div ref={box} data-decision className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-2">
      <p className="min-w-0 flex-1 basis-56">{words[kind] ?? words['approval']}</p>
      <Button look="primary" pending={pending} onClick={() => void send({ decision: 'allow' })}>
        Allow <kbd className="text-xs opacity-75">Y</kbd>
      </Button>
      {canRemember && (
        <Button pending={pending} onClick={() => void send({ decision: 'allow', remember: 'chat' })}>
          Always allow <kbd className="text-xs opacity-75">A</kbd>
        </Button>
      )}
      <Button look="danger-plain" pending={pending} onClick={() => void send({ decision: 'deny' })}>
        Deny <kbd className="text-xs opacity-75">N</kbd>
      </Button>
      <Refused>{rest()}</Refused>
    </div>
  )
}

function Text({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <p className="eyebrow">{label}</p>
      <pre
        tabIndex={0}
        className="max-h-80 overflow-auto rounded-xs bg-sunk px-3 py-2 font-mono text-[0.8125rem] whitespace-pre-wrap [overflow-wrap:anywhere]"
      >
        {visible(text)}
      </pre>
    </div>
  )
}

const MAX_SHOWN = 100_000

const outputText = (output: unknown): string =>
  shorten(typeof output === 'string' ? output : jsonText(output), MAX_SHOWN)

function pretty(json: string): string {
  try {
    return shorten(jsonText(JSON.parse(json)), MAX_SHOWN)
  } catch {
    return shorten(json, MAX_SHOWN)
  }
}

function briefOf(json: string): string {
  try {
    const value: unknown = JSON.parse(json)
    if (value === null || typeof value !== 'object') return json
    return shorten(
      Object.values(value)
        .map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
        .join(' '),
      200,
    )
  } catch {
    return shorten(json, 200)
  }
}
