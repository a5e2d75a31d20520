from django.db import migrations, models


def witness(apps, schema_editor):
    """Chains that are there already begin with what their head says."""
    ChainHead = apps.get_model('routing', 'ChainHead')
    Workspace = apps.get_model('routing', 'Workspace')
    for workspace_id, seq in ChainHead.objects.values_list('workspace_id', 'seq'):
        Workspace.objects.filter(pk=workspace_id).update(ledger_seq=seq)


class Migration(migrations.Migration):

    dependencies = [
        ('routing', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='workspace',
            name='ledger_seq',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.RunPython(witness, migrations.RunPython.noop),
    ]
