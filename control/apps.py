from django.apps import AppConfig


class ControlConfig(AppConfig):
    name = "control"
    label = "control"
    verbose_name = "Switchyard console and API"

    def ready(self) -> None:
        from control import access, signing
        from routing.services import schedules

        signing.connect()
        schedules.ask(access.may_publish)
