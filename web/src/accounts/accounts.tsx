import { useQuery } from '@tanstack/react-query'
import { useAccount } from '../shared/session.ts'
import { Forbidden } from '../ui/forbidden.tsx'
import { Button } from '../ui/button.tsx'
import { useOpen } from '../ui/dialogs/dialog.tsx'
import { Failure, Waiting, Refused } from '../ui/notice.tsx'
import { Page, Rows, Section, Tag } from '../ui/page.tsx'
import { useSend } from '../ui/calls/send.ts'
import { usd } from '../ui/text/format.ts'
import { Ago } from '../ui/text/time.tsx'
import { say } from '../ui/toast/toast.tsx'
import { uk } from '../shared/api.ts'
import { GrantDialog, type Granting } from './grant-dialog.tsx'
import { type AccountRow, type CreditRequest, accountsQuery, requestsQuery } from './queries.ts'
import { refreshMoney } from '../shared/money/credits.ts'

export function Accounts() {
  const { administrator } = useAccount()
  return administrator ? (
    <ForAdministrator />
  ) : (
    <Forbidden
      said="Only the administrator can see the accounts of this instance."
      who="The administrator of this instance"
    />
  )
}

function ForAdministrator() {
  const { open, on, show, onOpen } = useOpen<Granting>()
  return (
    <Page title="Accounts" lead="The users of this instance, their credits, and what their model calls have cost.">
      <Requests onGrant={show} />
      <All onGrant={show} />
      {on && <GrantDialog key={on.request?.id ?? on.account_id} granting={on} open={open} onOpen={onOpen} />}
    </Page>
  )
}

function Requests({ onGrant }: { onGrant: (granting: Granting) => void }) {
  const { data: requests = [] } = useQuery(requestsQuery)
  if (requests.length === 0) return null
  return (
    <Section title="Credit requests" about="Users are notified of your decision.">
      <Rows label="Credit requests">
        {requests.map((request) => (
          <RequestRow
            key={request.id}
            request={request}
            onGrant={() => onGrant({ account_id: request.account_id, name: request.name, request })}
          />
        ))}
      </Rows>
    </Section>
  )
}

function RequestRow({ request, onGrant }: { request: CreditRequest; onGrant: () => void }) {
  const { id, name, email, amount_usd, note, balance_usd, created_at } = request
  const refusing = useSend(uk.admin.refuse_request, async () => {
    await refreshMoney()
    say(`Request from ${name} declined`)
  })
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3.5">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium break-words">
          {name} asks for {amount_usd === null ? 'credits' : usd(amount_usd)}
        </p>
        <p className="text-[0.8125rem] break-words text-quiet">
          {email} · {usd(balance_usd)} left · <Ago time={created_at} />
        </p>
        {note && <p className="text-[0.8125rem] break-words">“{note}”</p>}
        <Refused>{refusing.rest()}</Refused>
      </div>
      <Button
        pending={refusing.pending}
        aria-label={`Decline request from ${name}`}
        onClick={() => void refusing.send({ id })}
      >
        Decline
      </Button>
      <Button look="primary" aria-label={`Grant the credits ${name} requested`} onClick={onGrant}>
        Grant
      </Button>
    </li>
  )
}

function All({ onGrant }: { onGrant: (granting: Granting) => void }) {
  const { data: accounts, error, refetch } = useQuery(accountsQuery)
  return (
    <Section title="All accounts">
      {error && !accounts ? (
        <Failure what="The accounts" error={error} again={refetch} />
      ) : !accounts ? (
        <Waiting what="the accounts" />
      ) : (
        <Rows label="Accounts">
          {accounts.map((account) => (
            <Row
              key={account.id}
              account={account}
              onGrant={() => onGrant({ account_id: account.id, name: account.name })}
            />
          ))}
        </Rows>
      )}
    </Section>
  )
}

function Row({ account, onGrant }: { account: AccountRow; onGrant: () => void }) {
  const { name, email, administrator, balance_usd, spent_usd, spent_30d_usd, last_seen_at } = account
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3.5">
      <div className="min-w-0 flex-1 basis-52">
        <p className="font-medium break-words">{name}</p>
        <p className="text-[0.8125rem] break-words text-quiet">
          {email}
          {last_seen_at !== null && (
            <>
              {' '}
              · last seen <Ago time={last_seen_at} />
            </>
          )}
        </p>
      </div>
      <p className="figures w-48 text-sm">
        {balance_usd === null ? 'Unlimited' : `${usd(balance_usd)} left`}
        <br />
        <span className="text-quiet">
          {usd(spent_usd)} spent, {usd(spent_30d_usd)} in 30 days
        </span>
      </p>
      {administrator && <Tag tone="ai">administrator</Tag>}
      {balance_usd !== null && (
        <Button aria-label={`Grant credits to ${name}`} onClick={onGrant}>
          Grant
        </Button>
      )}
    </li>
  )
}
