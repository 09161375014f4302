import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useDeviceSetting } from '../shared/device-setting.ts'
import { useAccount } from '../shared/session.ts'
import { buttonClass } from '../ui/button.tsx'
import { Icon } from '../ui/icons.tsx'
import { Failure, Waiting } from '../ui/notice.tsx'
import { Page, Section } from '../ui/page.tsx'
import { defaults } from '../shared/views/usage.ts'
import { usd } from '../ui/text/format.ts'
import { Attention } from './attention.tsx'
import { LastChats, LastFiles } from './lately.tsx'
import { dismissed } from './first-run/dismissed.ts'
import { lastChatsQuery, monthQuery } from './queries.ts'

export function Home() {
  const { id } = useAccount()
  const isDismissed = useDeviceSetting(dismissed(id)) !== null
  const chats = useQuery(lastChatsQuery)
  return (
    <Page
      title="Home"
      action={
        <Link to="/chats" className={buttonClass('primary')}>
          <Icon name="plus" />
          New chat
        </Link>
      }
    >
      {!isDismissed && (
        <p className="mb-5 flex flex-wrap items-center gap-x-4 gap-y-1 border border-line bg-sheet px-4 py-2.5 text-sm">
          <span className="min-w-0 flex-1 basis-64">
            Connect a provider, get a first response, and set up your tools.
          </span>
          <Link to="/welcome" className="link">
            Open setup guide
          </Link>
          <button type="button" className="text-quiet hover:text-ink" onClick={() => dismissed(id).set('yes')}>
            Don’t show again
          </button>
        </p>
      )}
      <Attention />
      <div className="grid gap-x-8 gap-y-8 wide:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Section title="Recent chats">
          {chats.error && !chats.data ? (
            <Failure what="Your chats" error={chats.error} again={chats.refetch} />
          ) : chats.data ? (
            <LastChats chats={chats.data} />
          ) : (
            <Waiting what="your chats" />
          )}
        </Section>
        <div>
          <Section title="Recent files">
            <LastFiles />
          </Section>
          <Section title="This month">
            <Month />
          </Section>
        </div>
      </div>
    </Page>
  )
}

function Month() {
  const { data, error, refetch } = useQuery(monthQuery)
  if (error && !data) return <Failure what="Your costs" error={error} again={refetch} />
  if (!data) return <Waiting what="your costs" rows={1} />
  return (
    <p className="figures border border-line border-t-keyline bg-sheet px-4 py-3 text-sm">
      <span className="text-lg font-medium">{usd(data.cost_usd)}</span>{' '}
      <span className="text-quiet">in {data.calls.toLocaleString('en')} calls. </span>
      <Link to="/ai-routing/usage" search={defaults} className="link">
        Usage
      </Link>
    </p>
  )
}
