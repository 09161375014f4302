import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { defaultModelQuery } from '../../shared/models/queries.ts'
import { exampleModel } from '../../shared/keys/example-model.ts'
import { providersQuery } from '../../shared/providers/queries.ts'
import { useAccount } from '../../shared/session.ts'
import { Button } from '../../ui/button.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { Page } from '../../ui/page.tsx'
import { useWorkspace } from '../../shared/workspace.ts'
import { writersQuery } from '../queries.ts'
import { dismissed } from './dismissed.ts'
import { FirstAnswer } from './first-answer.tsx'
import { FirstProvider } from './first-provider.tsx'
import { Step } from './step.tsx'
import { Tools } from './tools.tsx'

/**
 * The setup guide, from a new account to a first response and the user's own tools. Every step can be completed on this
 * page.
 */
export function Welcome() {
  const { id, name, email } = useAccount()
  const navigate = useNavigate()
  const models = useQuery(writersQuery)
  const { data: providers = [] } = useQuery(providersQuery)
  const [answered, setAnswered] = useState(false)
  const workspace = useWorkspace()
  const { data: chosen } = useQuery(defaultModelQuery(workspace?.id ?? null))
  const text = models.data ?? []
  const model = exampleModel(text, () => false)
  const serving = providers.filter(({ slug }) => slug !== 'sim' && text.some(({ provider }) => provider === slug))
  return (
    <Page
      title={`Welcome, ${name}`}
      lead="Connect a provider, get a first response, and set up your tools with one API key."
      action={
        <Button
          onClick={() => {
            dismissed(id).set('yes')
            void navigate({ to: '/' })
          }}
        >
          Skip setup
        </Button>
      }
    >
      <ol className="space-y-4">
        <Step number={1} title="Your account" done>
          <p className="text-sm text-quiet">
            {name}, {email}.
          </p>
        </Step>
        <Step number={2} title="Connect a provider" done={serving.length > 0}>
          {models.error && !models.data ? (
            <Failure what="The models" error={models.error} again={models.refetch} />
          ) : models.data === undefined ? (
            <Waiting what="the models" rows={1} />
          ) : (
            <FirstProvider serving={serving} />
          )}
        </Step>
        <Step number={3} title="Get a first response" done={answered}>
          {/* Without the list of models, this step can't tell whether one is available; the step above shows the error. */}
          {models.data && <FirstAnswer suggested={chosen ?? model} onAnswered={() => setAnswered(true)} />}
        </Step>
        <Step number={4} title="Connect your tools" done={false}>
          <Tools model={model} />
        </Step>
      </ol>
    </Page>
  )
}
