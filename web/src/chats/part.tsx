import type { ReactNode } from 'react'
import type { Message } from './queries.ts'

type Part = Message['content'][number]

/** One part of a message, as it is: text is not interpreted, and nothing is loaded from elsewhere. */
export function PartView({ part }: { part: Part }) {
  switch (part.type) {
    case 'text':
      return <p className="max-w-[76ch] break-words whitespace-pre-wrap">{part.text}</p>
    case 'reasoning':
      return part.text === '' ? null : <Folded title="Reasoning">{part.text}</Folded>
    case 'tool_call':
      return <Folded title={`Calls ${part.name}`}>{part.arguments}</Folded>
    case 'tool_result':
      return (
        <Folded title={part.is_error ? 'The tool failed' : 'What the tool answered'}>
          {typeof part.output === 'string' ? part.output : JSON.stringify(part.output, null, 2)}
        </Folded>
      )
    case 'compaction':
      return <Folded title="Summary of what came before">{part.summary}</Folded>
    default:
      return (
        <p className="text-sm text-quiet">
          {part.type === 'image' ? 'A picture' : `A file${part.name === null ? '' : `, ${part.name}`}`}
          {part.source.kind === 'url' ? (
            <>
              {' '}
              at{' '}
              <a className="link break-all" href={part.source.url} rel="noreferrer nofollow">
                {part.source.url}
              </a>
            </>
          ) : part.source.kind === 'file' ? (
            <>
              {': '}
              <a className="link break-all" href={`/v1/drive/files/${part.source.file_id}`} rel="noreferrer">
                {part.source.name}
              </a>
            </>
          ) : (
            `, ${part.source.media_type}`
          )}
        </p>
      )
  }
}

function Folded({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className="my-1">
      <summary className="w-fit text-sm text-quiet hover:text-ink">{title}</summary>
      <pre className="mt-1 max-h-96 overflow-auto rounded-xs bg-sunk px-3 py-2 font-mono text-sm whitespace-pre-wrap [overflow-wrap:anywhere]">
        {children}
      </pre>
    </details>
  )
}
