import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ownRequestsQuery, refreshMoney } from '../money/credits.ts'
import { uk } from '../api.ts'
import { useAccount } from '../session.ts'
import { Button } from '../../ui/button.tsx'
import { Refused } from '../../ui/notice.tsx'
import { useSend } from '../../ui/calls/send.ts'
import { Ago } from '../../ui/text/time.tsx'
import { defaults } from '../views/usage.ts'

const CODES = ['insufficient_credits', 'spend_cap_reached', 'budget_reached'] as const
type Code = (typeof CODES)[number]
export const isUnpaid = (code: string | undefined): code is Code => CODES.includes(code as Code)

/** Explains why a response couldn't be paid for, and offers a way out. */
export function Unpaid({ code, message, onAgain }: { code: Code; message: string; onAgain: () => void }) {
  return (
    <section aria-label="Payment required" className="border border-ochre/45 bg-sheet px-4 py-3 text-sm">
      {code === 'insufficient_credits' ? (
        <NoCredits />
      ) : (
        <>
          <p className="font-medium">
            {code === 'budget_reached'
              ? 'The spend cap doesn’t cover this response.'
              : 'A spending limit doesn’t cover this response.'}
          </p>
          <p className="mt-1 text-quiet">
            {message} The person who set the limit can raise it. See{' '}
            <Link to="/workspaces" className="link">
              members and their limits
            </Link>{' '}
            <Link to="/ai-routing/usage" search={defaults} className="link">
              usage
            </Link>
            .
          </p>
        </>
      )}
      <Button className="mt-3" onClick={onAgain}>
        Try again
      </Button>
    </section>
  )
}

function NoCredits() {
  const { administrator } = useAccount()
  const { data: [last] = [] } = useQuery(ownRequestsQuery)
  const asking = useSend(
    () => uk.me.request_credits({ note: 'To continue a chat' }),
    () => refreshMoney(),
  )
  return (
    <>
      <p className="font-medium">You have no credits left for this model.</p>
      <p className="mt-1 text-quiet">
        Models that this instance provides are paid with credits, which the administrator grants. Calls with{' '}
        <Link to="/ai-routing" className="link">
          your own provider key
        </Link>{' '}
        don’t need credits.
      </p>
      <Refused>{asking.rest()}</Refused>
      <p role="status" className="mt-2 empty:hidden">
        {last?.status === 'pending' && (
          <>
            You requested credits <Ago time={last.created_at} />. You’ll be notified in your inbox.
          </>
        )}
        {last?.status === 'refused' && `Your last request was declined${last.answer ? `: ${last.answer}` : '.'}`}
      </p>
      {administrator ? (
        <Link to="/accounts" className="link mt-2 inline-block">
          Grant credits
        </Link>
      ) : (
        last?.status !== 'pending' && (
          <Button
            look="primary"
            className="mt-2 mr-2"
            pending={asking.pending}
            onClick={() => void asking.send(undefined)}
          >
            Request credits
          </Button>
        )
      )}
    </>
  )
}
