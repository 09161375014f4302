import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { uk } from '../shared/api.ts'
import { refusal } from '../ui/calls/errors.ts'
import { useDraft } from '../ui/typing/draft.ts'
import { Empty, Failure, Refused, Waiting } from '../ui/notice.tsx'
import { sayAt } from '../ui/calls/send.ts'
import { Section } from '../ui/page.tsx'
import { useSettled } from '../ui/typing/settled.ts'
import { RouteList } from './route-list.tsx'
import { emptyDraft, callOf } from './draft.ts'
import { DraftFields } from './draft-fields.tsx'

export function Preview() {
  const [draft, setDraft] = useDraft(
    'routing preview',
    () => emptyDraft,
    ({ model }) => model === '',
  )
  const call = useSettled(callOf(draft), 250)
  const hasModel = call.model !== ''
  const {
    data: route,
    error: failed,
    failureReason,
    isFetching,
    refetch,
  } = useQuery({
    queryKey: ['routing', 'preview', call],
    queryFn: ({ signal }) => uk.ai_gateway.routing_preview(call, { signal }),
    enabled: hasModel,
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  // Shows the first error while retries continue.
  const error = failed ?? failureReason
  const at = (field: string) => sayAt(error, field)
  const param = refusal(error)?.param
  const elsewhere = param !== undefined && param !== 'model'
  return (
    <Section title="Routing preview" about="See which providers a request would use. Nothing is sent or billed.">
      <div className="grid items-start gap-8 lg:grid-cols-[minmax(0,20rem)_minmax(0,1fr)]">
        <form
          className="border border-line border-t-keyline bg-sheet px-4 py-4"
          onSubmit={(event) => event.preventDefault()}
        >
          <DraftFields draft={draft} onDraft={setDraft} at={at} />
        </form>
        <div aria-busy={isFetching} className="min-w-0">
          {!hasModel ? (
            <Empty title="Choose a model">
              Pick an available model, or type the name a client sends. You’ll see which providers it would use, in
              which order and why, and the maximum cost.
            </Empty>
          ) : error && elsewhere ? (
            <Refused>One of the fields has an invalid value. The message is next to the field.</Refused>
          ) : error ? (
            <Failure what="The route" error={error} again={refetch} />
          ) : route ? (
            <RouteList route={route} />
          ) : (
            <Waiting what="the route" rows={2} />
          )}
        </div>
      </div>
    </Section>
  )
}
