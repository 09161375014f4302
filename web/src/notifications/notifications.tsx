import { useQuery } from '@tanstack/react-query'
import { plural } from '../ui/text/format.ts'
import { Failure, Waiting } from '../ui/notice.tsx'
import { Page, Section } from '../ui/page.tsx'
import { Confirmation } from './confirmation.tsx'
import { Grid } from './grid.tsx'
import { browsersQuery, preferencesQuery } from './queries.ts'
import { ThisBrowser } from './this-browser.tsx'
import { useIsSaving } from './wish.ts'

/** The page that the foot of every mail leads to. */
export function Notifications() {
  const { data, error, refetch } = useQuery(preferencesQuery)
  const { data: browsers } = useQuery(browsersQuery)
  const isSaving = useIsSaving()
  return (
    <Page title="Notifications" lead="What you hear of, and where: in the app, by e-mail, by push.">
      <Confirmation />
      <ThisBrowser />
      <Section
        title="What, and where"
        about={
          browsers &&
          (browsers.length === 0
            ? 'No browser gets your pushes yet: what is ticked there waits for one.'
            : `${plural(browsers.length, 'browser gets', 'browsers get')} your pushes.`)
        }
        action={
          <p role="status" className="text-sm text-quiet">
            {isSaving ? 'Saving …' : 'Changes are saved as you make them.'}
          </p>
        }
      >
        {error && !data ? (
          <Failure what="Your preferences" error={error} again={refetch} />
        ) : !data ? (
          <Waiting what="your preferences" rows={6} />
        ) : (
          <Grid preferences={data.preferences} />
        )}
      </Section>
    </Page>
  )
}
