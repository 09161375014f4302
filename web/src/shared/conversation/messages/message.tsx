import { memo } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Actions } from '../../../ui/dialogs/menu.tsx'
import { usd } from '../../../ui/text/format.ts'
import { Tag } from '../../../ui/page.tsx'
import { Ago } from '../../../ui/text/time.tsx'
import { stopReading, useReading } from '../voice/read-aloud.ts'
import { Markdown } from '../../../ui/markdown/markdown.tsx'
import type { Message, Run } from '../queries.ts'
import type { ToolResult } from '../thread/tree.ts'
import { Attachment } from './attachment.tsx'
import { BranchSwitch } from './branch-switch.tsx'
import { Reasoning } from './reasoning.tsx'
import { type Decide, ToolRow } from './tool-row.tsx'

export interface MessageChanges {
  edit(message: Message): void
  again(message: Message): void
  show(sibling: Message): void
  decide: Decide
  /** Whether tools can be allowed permanently: only in runs of the person's own messages. */
  mayRemember(run: Run): boolean
}

export interface MessageActions {
  changes: MessageChanges | null
  fork(message: Message): void
  readAloud(message: Message): void
}

export interface MessageRowProps {
  message: Message
  speaker: string
  siblings: readonly Message[]
  results: ReadonlyMap<string, ToolResult>
  /** The unfinished run, if this message belongs to it. */
  run: Run | null
  actions: MessageActions
}

export const MessageRow = memo(function MessageRow(props: MessageRowProps) {
  const { message, speaker, siblings, results, run, actions } = props
  const { role, status, content, text, cost_usd, created_at } = message
  const { changes } = actions
  const isPerson = role === 'user'
  const isWriting = status === 'in_progress' && run !== null
  return (
    <article
      aria-label={`${speaker}, ${isWriting ? 'writing' : 'message'}`}
      aria-busy={isWriting}
      className={`group px-4 pt-4 pb-1.5 sm:px-6 ${isPerson ? 'bg-sunk/60' : ''}`}
    >
      <div className="mx-auto max-w-[46rem]">
        <p className="figures mb-1 flex flex-wrap items-baseline gap-x-3 text-[0.8125rem] text-quiet">
          <span className={`text-sm font-medium break-all ${isPerson ? 'text-ink' : 'text-ai'}`}>{speaker}</span>
          <Ago time={created_at} />
          {cost_usd !== null && cost_usd > 0 && <span>{usd(cost_usd)}</span>}
          {status !== 'completed' && !isWriting && (
            <Tag tone={status === 'failed' ? 'bad' : 'warn'}>{status === 'in_progress' ? 'writing' : status}</Tag>
          )}
        </p>
        <div className="space-y-2 text-[1.0625rem] leading-[1.65]">
          {content.map((part, at) => {
            switch (part?.type) {
              case 'text':
                return isPerson ? (
                  <p key={at} className="break-words whitespace-pre-wrap">
                    {part.text}
                  </p>
                ) : (
                  <Markdown key={at} text={part.text} growing={isWriting && at === content.length - 1} />
                )
              case 'reasoning':
                return <Reasoning key={at} text={part.text} open={isWriting && at === content.length - 1} />
              case 'tool_call':
                return (
                  <ToolRow
                    key={at}
                    call={part}
                    result={results.get(part.id)}
                    run={run}
                    decide={changes?.decide}
                    mayRemember={run !== null && changes?.mayRemember(run) === true}
                  />
                )
              case 'compaction':
                return <Reasoning key={at} title="Summary of earlier messages" text={part.summary} open={false} />
              case 'image':
              case 'file':
                return <Attachment key={at} part={part} />
              default:
                return null
            }
          })}
          {isWriting && content.length === 0 && (
            <p role="status" className="text-quiet">
              Thinking …
            </p>
          )}
        </div>
        {!isWriting && (
          <div className="mt-1.5 -ml-2 flex min-h-9 items-center gap-1">
            {changes && <BranchSwitch message={message} siblings={siblings} onShow={changes.show} />}
            <div className="flex opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100">
              <Actions
                label={`More actions for this message by ${speaker}`}
                actions={[
                  { label: 'Copy as Markdown', run: () => void navigator.clipboard.writeText(text) },
                  ...(changes && isPerson ? [{ label: 'Edit', run: () => changes.edit(message) }] : []),
                  ...(changes && role === 'assistant' ? [{ label: 'Retry', run: () => changes.again(message) }] : []),
                  ...(text.trim() === '' ? [] : [{ label: 'Read aloud', run: () => actions.readAloud(message) }]),
                  { label: 'Fork from here', run: () => actions.fork(message) },
                ]}
              />
            </div>
            <Heard messageId={message.id} />
          </div>
        )}
      </div>
    </article>
  )
})

function Heard({ messageId }: { messageId: string }) {
  const { messageId: now, state } = useReading()
  if (now !== messageId) return null
  return (
    <span role="status" className="flex items-center gap-1 text-sm text-quiet">
      {state === 'coming' ? 'Loading audio …' : 'Reading aloud'}
      <Button look="quiet" icon="stop" onClick={stopReading}>
        Stop
      </Button>
    </span>
  )
}
