from django.apps import AppConfig


class ControlConfig(AppConfig):
    name = "control"
    label = "control"
    verbose_name = "Switchyard console and API"

    def ready(self) -> None:
        from control import access, keys, signing
        from routing.services import schedules
        from routing.services.canaries import starting

        signing.connect()
        schedules.ask(access.may_publish)
        starting.ask(keys.in_use)
