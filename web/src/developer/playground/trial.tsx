import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { useDraft } from '../../ui/typing/draft.ts'
import { CheckField, Field as Labelled } from '../../ui/field.tsx'
import { Refused } from '../../ui/notice.tsx'
import { Snippets } from '../../ui/snippet.tsx'
import { Words } from '../../ui/text/words.tsx'
import { AnswerView } from './answer-view.tsx'
import { type Draft, draftOf, filled, typedIn, withTyped } from './draft.ts'
import { FieldInput } from './field-input.tsx'
import { GatewayKey } from './gateway-key.tsx'
import type { Operation } from './operations.ts'
import { useAnswer } from './use-answer.ts'
import { snippetsOf } from './snippets.ts'

export function Trial({ operation }: { operation: Operation }) {
  const { method, path, fields, filePart, auth, final, closed } = operation
  const [draft, setDraft] = useDraft<Draft>(
    `${method} ${path}`,
    () => draftOf(operation),
    (now) => JSON.stringify(now) === JSON.stringify(draftOf(operation)),
  )
  const [file, setFile] = useState<File | null>(null)
  const [key, setKey] = useState('')
  const [sure, setSure] = useState(false)
  const { answer, going, send, stop } = useAnswer()
  const call = attempt(() => filled(operation, draft, file, auth === 'key' ? key.trim() : null))
  const missing = fields.find(
    (field) => field.required && field.place === 'path' && typedIn(draft, field).trim() === '',
  )
  return (
    <div className="min-w-0">
      <Summary operation={operation} />
      {closed ? (
        <p className="mt-5 border border-line bg-sheet px-4 py-4 text-quiet">
          {closed} You can’t call it from the playground.
        </p>
      ) : (
        <form
          noValidate
          className="mt-5 space-y-6"
          onSubmit={(event) => {
            event.preventDefault()
            if ('value' in call && !missing && (!final || sure)) void send(call.value, operation.answersBytes)
          }}
        >
          {auth === 'key' && <GatewayKey value={key} onValue={setKey} />}
          <Parameters fields={fields} draft={draft} onDraft={setDraft} />
          {filePart !== null && (
            <Labelled label="File" hint={filePart === '' ? 'Sent as the body.' : `Sent as the form field ${filePart}.`}>
              {(control) => (
                <input type="file" {...control} onChange={({ target }) => setFile(target.files?.[0] ?? null)} />
              )}
            </Labelled>
          )}
          {final && (
            <CheckField label="I understand that this can affect other users." checked={sure} onChecked={setSure} />
          )}
          <Refused>{'wrong' in call ? call.wrong : null}</Refused>
          <div className="flex flex-wrap items-center gap-3">
            <Button
              type="submit"
              look={final ? 'danger' : 'primary'}
              pending={going}
              disabled={
                'wrong' in call || missing !== undefined || (final && !sure) || (auth === 'key' && key.trim() === '')
              }
            >
              Send {method}
            </Button>
            {going && <Button onClick={stop}>Stop</Button>}
            {missing && <span className="text-sm text-quiet">{missing.name} is required.</span>}
          </div>
        </form>
      )}
      <AnswerView answer={answer} going={going} />
      {'value' in call && (
        <div className="mt-8">
          <h3 className="mb-2 font-serif text-lg">Code examples</h3>
          <Snippets label="Code examples" examples={snippetsOf(operation, call.value, location.origin)} />
        </div>
      )}
    </div>
  )
}

function Summary({ operation: { method, path, summary, description, docs } }: { operation: Operation }) {
  return (
    <>
      <h2 className="font-serif text-xl leading-tight">{summary}</h2>
      <p className="mt-1.5 font-mono text-sm break-all">
        <span className="text-ai">{method}</span> {path}
      </p>
      {description && (
        <p className="mt-2 max-w-[72ch] text-sm whitespace-pre-line text-quiet">
          <Words>{description}</Words>
        </p>
      )}
      <p className="mt-1 text-sm">
        <a className="link" href={docs}>
          Reference
        </a>
      </p>
    </>
  )
}

const places = [
  ['path', 'Path parameters'],
  ['query', 'Query parameters'],
  ['body', 'Body'],
] as const

/** The fields by their place in the request, required ones first. */
function Parameters({
  fields,
  draft,
  onDraft,
}: {
  fields: Operation['fields']
  draft: Draft
  onDraft: (draft: Draft) => void
}) {
  return places.map(([place, words]) => {
    const those = fields
      .filter((field) => field.place === place)
      .toSorted((a, b) => Number(b.required) - Number(a.required))
    if (those.length === 0) return null
    return (
      <fieldset key={place} className="min-w-0">
        <legend className="eyebrow mb-2">{words}</legend>
        <div className="grid gap-x-5 gap-y-4 sm:grid-cols-2">
          {those.map((field) => (
            <FieldInput
              key={field.name}
              field={field}
              value={typedIn(draft, field)}
              onValue={(value) => onDraft(withTyped(draft, field, value))}
            />
          ))}
        </div>
      </fieldset>
    )
  })
}

function attempt<T>(work: () => T): { value: T } | { wrong: string } {
  try {
    return { value: work() }
  } catch (error) {
    return { wrong: (error as Error).message }
  }
}
