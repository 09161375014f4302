import { Link } from '@tanstack/react-router'
import { Empty } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'

/** The server tells nobody whether a thing is gone or somebody else's. */
export function GoneOrNotYours({ what }: { what: string }) {
  return (
    <div className="mx-auto max-w-3xl px-4 pt-8 sm:px-8">
      <Page title="Nothing here" lead={`${what} does not exist, or nobody has shared it with you.`}>
        <Empty
          title="Ask for it"
          action={
            <Link to="/drive" className="link">
              Go to your drive
            </Link>
          }
        >
          Whoever sent you the link can share it with your address. What was shared stands under{' '}
          <Link to="/shared-with-me" className="link">
            Shared with me
          </Link>
          .
        </Empty>
      </Page>
    </div>
  )
}
