import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ownRequestsQuery, refreshMoney } from '../accounts/queries.ts'
import { uk } from '../api.ts'
import { useAccount } from '../session.ts'
import { Button } from '../ui/button.tsx'
import { Refused } from '../ui/notice.tsx'
import { useSend } from '../ui/send.ts'
import { Ago } from '../ui/text/time.tsx'
import { defaults } from '../usage/view.ts'

const CODES = ['insufficient_credits', 'spend_cap_reached', 'budget_reached'] as const
type Code = (typeof CODES)[number]
export const isUnpaid = (code: string | undefined): code is Code => CODES.includes(code as Code)

/** The reason for which an answer was not paid for, in words of the person who asked, and the way out of it here. */
export function Unpaid({ code, message, onAgain }: { code: Code; message: string; onAgain: () => void }) {
  return (
    <section aria-label="Not paid for" className="border border-ochre/45 bg-sheet px-4 py-3 text-sm">
      {code === 'insufficient_credits' ? (
        <NoCredits />
      ) : (
        <>
          <p className="font-medium">
            {code === 'budget_reached'
              ? 'The budget does not cover this answer.'
              : 'A spending limit does not cover this answer.'}
          </p>
          <p className="mt-1 text-quiet">
            {message} Whoever set it can raise it:{' '}
            <Link to="/workspaces" className="link">
              people and their limits
            </Link>
            ,{' '}
            <Link to="/ai-routing/usage" search={defaults} className="link">
              what was spent
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
    () => uk.me.request_credits({ note: 'To go on with a chat' }),
    () => refreshMoney(),
  )
  return (
    <>
      <p className="font-medium">You have no credits left for this model.</p>
      <p className="mt-1 text-quiet">
        Models that this instance provides are paid from credits, which its administrator grants. On{' '}
        <Link to="/ai-routing" className="link">
          a provider key of your own
        </Link>{' '}
        none are needed.
      </p>
      <Refused>{asking.rest()}</Refused>
      <p role="status" className="mt-2 empty:hidden">
        {last?.status === 'pending' && (
          <>
            The administrator was asked <Ago time={last.created_at} />: you hear of the answer in your inbox.
          </>
        )}
        {last?.status === 'refused' && `Your last request was refused${last.answer ? `: ${last.answer}` : '.'}`}
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
            Ask the administrator
          </Button>
        )
      )}
    </>
  )
}
