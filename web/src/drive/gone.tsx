import { Link } from '@tanstack/react-router'
import { Empty } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'

/** The server doesn't distinguish between not found and no access. */
export function GoneOrNotYours({ what }: { what: string }) {
  return (
    <div className="mx-auto max-w-3xl px-4 pt-8 sm:px-8">
      <Page title="Not found" lead={`${what} doesn’t exist, or you don’t have access to it.`}>
        <Empty
          title="Ask for access"
          action={
            <Link to="/drive" className="link">
              Go to your drive
            </Link>
          }
        >
          Ask the person who sent you the link to share it with your email address. Shared items appear under{' '}
          <Link to="/shared-with-me" className="link">
            Shared with me
          </Link>
          .
        </Empty>
      </Page>
    </div>
  )
}
