import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient, uk } from '../../shared/api.ts'
import { sayError } from '../../ui/calls/errors.ts'
import { Markdown } from '../../ui/markdown/markdown.tsx'
import { RunLine } from '../../shared/conversation/run-line.tsx'
import { type Live, isUnfinished, nothingYet, tell } from '../../shared/conversation/thread/live.ts'
import { ModelField } from '../../shared/models/model-field.tsx'
import { Button } from '../../ui/button.tsx'
import { useDraft } from '../../ui/typing/draft.ts'
import { Field } from '../../ui/field.tsx'
import { Refused } from '../../ui/notice.tsx'
import { useWorkspace } from '../../shared/workspace.ts'

const QUESTION = 'Say hello in one sentence, and tell me what you are good at.'

export function FirstAnswer({ suggested, onAnswered }: { suggested: string | null; onAnswered: () => void }) {
  const workspace = useWorkspace()
  const [chosen, setChosen] = useDraft<string | null>(
    'first model',
    () => null,
    (name) => name === null,
  )
  const [question, setQuestion] = useDraft(
    'first question',
    () => QUESTION,
    (words) => words === QUESTION,
  )
  const [chatId, setChatId] = useState<string | null>(null)
  const [live, setLive] = useState<Live>(nothingYet)
  const [state, setState] = useState<'idle' | 'asking'>('idle')
  const [error, setError] = useState<string | null>(null)
  const [nameless, setNameless] = useState(false)
  const model = chosen ?? suggested
  if (model === null) return <p className="text-sm text-quiet">Connect a provider to send your first message.</p>
  const ask = async (): Promise<void> => {
    setState('asking')
    setError(null)
    setLive(nothingYet)
    try {
      const chat = await uk.chats.create({ model, ...(workspace && { workspace_id: workspace.id }) })
      setChatId(chat.id)
      let now = nothingYet
      for await (const event of await uk.chats.stream({ id: chat.id, content: question })) {
        now = tell(now, [event])
        setLive(now)
      }
      if (now.run?.status === 'completed') onAnswered()
      for (const name of ['chats', 'usage', 'models']) void queryClient.invalidateQueries({ queryKey: [name] })
    } catch (failure) {
      setError(sayError(failure))
    } finally {
      setState('idle')
    }
  }
  const text = [...live.messages.values()]
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ content }) => content.map((part) => (part.type === 'text' ? part.text : '')))
    .join('')
  return (
    <div className="max-w-2xl space-y-3">
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault()
          setNameless(model.trim() === '')
          if (state === 'idle' && question.trim() !== '' && model.trim() !== '') void ask()
        }}
      >
        <ModelField value={model} onValue={setChosen} error={nameless ? 'Choose a model.' : null} />
        <Field label="Message">
          {(control) => (
            <textarea
              {...control}
              rows={2}
              className="field resize-y"
              value={question}
              onChange={({ target }) => setQuestion(target.value)}
            />
          )}
        </Field>
        <Button type="submit" look="primary" pending={state === 'asking'}>
          Send message
        </Button>
      </form>
      <Refused>{error}</Refused>
      {(text !== '' || state === 'asking') && (
        <div aria-label="Response" role="group" aria-busy={state === 'asking'} className="border-l-2 border-ai pl-4">
          {text === '' ? <p className="text-sm text-quiet">Waiting for the response …</p> : <Markdown text={text} />}
        </div>
      )}
      {live.run !== null && !isUnfinished(live.run) && <RunLine run={live.run} onAgain={() => void ask()} />}
      {chatId !== null && state === 'idle' && (
        <Link to="/chats/$id" params={{ id: chatId }} className="link text-sm">
          Continue in this chat
        </Link>
      )}
    </div>
  )
}
