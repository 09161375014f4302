import { Link } from '@tanstack/react-router'
import { Copy } from '../../ui/copy.tsx'
import { Tag } from '../../ui/page.tsx'
import { number } from '../../ui/text/format.ts'
import { Code } from '../code.tsx'
import type { Answer } from './use-answer.ts'

export function AnswerView({ answer, going }: { answer: Answer | null; going: boolean }) {
  if (answer === null) return going ? <p className="mt-6 text-sm text-quiet">Waiting for the response …</p> : null
  const { status, headers, requestId, body, headMs, tookMs, broken } = answer
  return (
    <section aria-label="Response" aria-busy={going} className="mt-6">
      <p role="status" className="figures flex flex-wrap items-center gap-x-3 gap-y-1">
        {status && (
          <Tag tone={status.code < 400 ? 'good' : 'bad'}>
            {status.code} {status.words}
          </Tag>
        )}
        <span className="text-sm text-quiet">
          {tookMs === null ? `first byte after ${number(headMs)} ms, streaming` : `${number(tookMs)} ms`}
          {tookMs !== null && tookMs - headMs > 20 && `, first byte after ${number(headMs)} ms`}
        </span>
        {broken && <span className="text-sm text-seal">{broken}</span>}
      </p>
      {body && (
        <div className="relative">
          <Code label="Response body">{body}</Code>
          <div className="mt-2 flex flex-wrap items-center gap-3">
            <Copy text={body} label="Copy body" look="quiet" />
          </div>
        </div>
      )}
      {requestId && (
        <p className="mt-2 text-[0.8125rem] break-all text-quiet">
          <code className="font-mono">x-request-id</code>{' '}
          <Link to="/developer/requests/$id" params={{ id: requestId }} className="link font-mono">
            {requestId}
          </Link>
        </p>
      )}
      {headers.length > 0 && (
        <details className="mt-2 text-sm">
          <summary className="text-quiet">{headers.length} headers</summary>
          <Code label="Response headers">{headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</Code>
        </details>
      )}
    </section>
  )
}
